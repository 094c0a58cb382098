/// What `--help` prints; at most 80 columns wide.
enum HelpText {
    static let version = "0.1.0"

    static let text = """
        upload: send files over HTTP and see how far they are

          upload [options] FILE... URL     send files (PUT)
          upload [options] - URL           send standard input (PUT)
          upload [options] -F N=V... URL   send a form with files (POST)
          upload [options] -d DATA... URL  send data, as curl does (POST)
          upload [options] --json J URL    send JSON (POST)
          upload --demo [FILE]             send FILE, or 64 MiB of test data, to an
                                           embedded server and verify it; this is
                                           also what plain `upload` does

        To a URL that ends in / the file's name is appended. Several files need
        such a URL; standard input has no name and needs another one. A file that
        is called - is ./- here. The response's body goes to standard output, in
        the order of the files; everything else goes to standard error.

          -X, --request METHOD   PUT unless said otherwise; POST with -F, -d, --json
          -H, --header 'N: V'    add a header, or replace a default one; 'N:' leaves
                                 out a default one: User-Agent, Accept,
                                 Accept-Encoding, Content-Type, Authorization
          -u, --user NAME:PASSWORD
              --bearer TOKEN     sent with the first request, and not to another
                                 origin if a redirect leads there
          -F, --form NAME=VALUE  add a field to a multipart/form-data form; @PATH as
                                 the value adds a file, @A,B two of them, <PATH the
                                 text in a file; a path that is - is standard input.
                                 ;type=text/csv and ;filename=x.csv may follow; a
                                 value with ; or , in it needs "double quotes"
              --form-string NAME=VALUE
                                 the same, with the value as it is
          -d, --data TEXT|@PATH  send this text, or this file without its line
                                 breaks, as application/x-www-form-urlencoded; @- is
                                 standard input. Several are joined with &, those of
                                 the next three included
              --data-raw TEXT    the same, with an @ as it is
              --data-binary TEXT|@PATH
                                 the same, with the file as it is
              --data-urlencode WHAT
                                 the same, encoded: TEXT, =TEXT, NAME=TEXT, @PATH or
                                 NAME@PATH; not the name
              --json TEXT|@PATH  send this text, or this file, as application/json;
                                 @- is standard input
                                 -F, -d and --json exclude each other, and FILE
          -o, --output FILE      write the response there, not to standard output
          -i, --include          write status and headers before the response's body
          -P, --parallel N       send N files at a time (1 to 300; default 4)
              --max-redirs N     follow up to N redirects, with the body (default
                                 20; -1: any number)
              --no-location      follow none
              --retry N          try up to N more times after a failure that may
                                 pass, with growing waits (default 3; 0: never). Not
                                 with POST and PATCH, unless nothing has reached the
                                 server or there is an Idempotency-Key; nor with
                                 standard input that has been read
              --retry-all        with any method; a server may act on it twice then
              --resumable KIND   tus, ietf, gcs or s3: go on where it was after a
                                 failure, instead of sending all again, with any
                                 method. tus: URL creates uploads and is used as it
                                 is, also if it ends in / and for several files; the
                                 server is told each one's name (filename). ietf:
                                 URL, name and method are as without it. gcs: URL
                                 starts a session; without name= in it the file's
                                 name is added, which several files need. s3: URL is
                                 a presigned PUT, used for up to 5 MiB; one file
              --state DIR        keep in this folder how far files are, so that the
                                 same command goes on after Ctrl-C, a crash or a
                                 restart. Files that have changed, or were done, are
                                 sent anew, and so is what is no file. What is in
                                 the folder can give access to the uploads. Without
                                 --state nothing outlives the process, and Ctrl-C
                                 has the server remove what it has
              --part-urls COMMAND|@FILE
                                 with s3: what prints, or has in it, JSON with the
                                 presigned URLs of a multipart upload:
                                   {"uploadId": "...", "parts": ["URL of part 1",
                                    ...], "complete": "...", "list": "...",
                                    "abort": "..."}
                                 list and abort may be missing, but list only without
                                 --state or with @FILE. The COMMAND is run by the
                                 shell with the number of parts as $1 and, to sign
                                 the URLs of an upload that has begun, its uploadId
                                 as $2: 'sign.sh "$1" "$2"'
              --timeout S        give up after S seconds, redirects, further attempts
                                 and waits included; fractions such as 0.5 are fine,
                                 here and below
              --stall-timeout S  end an attempt when no byte moves for S seconds
                                 (default 60), but wait for standard input
              --connect-timeout S
                                 end an attempt without a connection after S seconds
                                 (default 30)
              --limit-rate N     send up to N bytes per second of each file: 50000,
                                 500K, 1.5M, 1G (K is 1024, M is 1024 K, G 1024 M)
              --cacert FILE      trust the authorities in this PEM file, and not the
                                 system's
              --cert FILE        show this certificate (PEM) to the server
              --key FILE         the certificate's key, if that is in another file
              --insecure         trust any server; for tests only
              --transport KIND   urlsession or curl; default: curl on Linux. A rate and
                                 TLS files need curl
              --progress KIND    bar, json (one object a line; what is not known is
                                 null) or none; default: bar on a terminal, none
                                 otherwise
          -s, --silent           nothing on standard error, not even errors
          -v, --verbose          tell what is requested, answered and tried again
              --demo             see above; goes with --progress, --limit-rate,
                                 --transport, -s and -v
          -h, --help             this
          -V, --version          the version

        Exit status; with several files that of the first one that failed:
            0  accepted, with a status from 200 to 299
            2  wrong use, a request that is not valid, or an option that the
               transport does not have
            6  host not found
            7  no connection
           22  the server refused; its response goes to standard output all the same
           23  the response could not be written
           26  the file or standard input cannot be read, or the file changed while
               it was sent; its checkpoint cannot be kept, or the upload is under
               way already; there are no URLs for its parts
           28  it took too long, or nothing moved for too long
           35  no secure connection, or TLS files that cannot be used
           47  too many redirects, or one that is not followed: to http from https,
               or to something else than HTTP
           55  sending failed, or the server sent a body elsewhere that can be read
               only once
           56  receiving failed
           60  the server's certificate is not trusted
          130  interrupted; with --state the same command continues. A second
               Ctrl-C does not wait for anything

        """
}
