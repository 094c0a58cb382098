// FoundationNetworking collects no metrics.
#if !canImport(FoundationNetworking)
    import Foundation

    extension SessionDelegateProxy {
        /// Comes before the end of the task.
        // The selector is spelled out since the conformance is declared elsewhere.
        @objc(URLSession:task:didFinishCollectingMetrics:)
        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            guard let facts = metrics.transactionMetrics.last.flatMap(ConnectionFacts.init) else { return }
            let number = task.taskIdentifier
            forward { $0.didUse(number, facts) }
        }
    }

    extension ConnectionFacts {
        /// Fails when nothing was connected.
        fileprivate init?(_ metrics: URLSessionTaskTransactionMetrics) {
            guard metrics.isReusedConnection || metrics.connectEndDate != nil else { return nil }
            isReused = metrics.isReusedConnection
            networkProtocolName = metrics.networkProtocolName
            remoteAddress = metrics.remoteAddress
            remotePort = metrics.remotePort
        }
    }
#endif
