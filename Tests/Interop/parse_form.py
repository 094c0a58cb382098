"""Says how a form reads for parsers that many servers use. Paths that are not among these are httpbin's.

Contents are in Base64, so that every byte of them is seen.
"""

import base64
import email.parser
import email.policy
import io
import json
import traceback
import urllib.parse

import httpbin
from werkzeug.formparser import parse_form_data
from werkzeug.http import parse_options_header
from werkzeug.middleware.dispatcher import DispatcherMiddleware


def part(name, filename, content_type, content):
    return {
        "name": name,
        "filename": filename,
        "contentType": content_type,
        "content": base64.b64encode(content).decode("ascii"),
    }


def werkzeug_lists(environ, body):
    environ = {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    # A list keeps the order, which the usual dictionary does not.
    _, fields, files = parse_form_data(environ, cls=list, silent=False)
    return fields, files


def by_werkzeug(environ, body):
    fields, files = werkzeug_lists(environ, body)
    return {
        "fields": [part(name, None, None, text.encode("utf-8")) for name, text in fields],
        "files": [
            part(name, file.filename, file.headers.get("Content-Type"), file.stream.read())
            for name, file in files
        ],
    }


def original(header):
    """A header's value as it was sent."""
    return header.encode("ascii", "surrogateescape").decode("utf-8")


def part_by_email(message):
    raw = {name.lower(): original(value) for name, value in message.raw_items()}
    # get_filename() and its like strip spaces.
    parameters = message["Content-Disposition"].params
    nested = message.is_multipart()
    content = b"" if nested else message.get_payload(decode=True)
    result = part(parameters.get("name"), parameters.get("filename"), raw.get("content-type"), content)
    if nested:
        result["parts"] = [part_by_email(inner) for inner in message.iter_parts()]
    return result


def by_email(environ, body):
    head = b"Content-Type: " + environ["CONTENT_TYPE"].encode("latin-1") + b"\r\n\r\n"
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    parts = list(message.iter_parts())
    return {
        "parts": [part_by_email(inner) for inner in parts],
        "heads": [[f"{name}: {original(value)}" for name, value in inner.raw_items()] for inner in parts],
        "defects": [type(defect).__name__ for inner in message.walk() for defect in inner.defects],
    }


def as_urlencoded(environ, body):
    text = body.decode("ascii")
    return {
        "text": text,
        "pairs": urllib.parse.parse_qsl(text, keep_blank_values=True, strict_parsing=True, errors="strict"),
        "werkzeugPairs": werkzeug_lists(environ, body)[0],
    }


def framing(boundary, body):
    """Parsers forgive much; this does not."""
    delimiter = b"\r\n--" + boundary.encode("latin-1")
    pieces = (b"\r\n" + body).split(delimiter)
    heads = [piece.partition(b"\r\n\r\n")[0].replace(b"\r\n", b"") for piece in pieces[1:-1]]
    return {
        "delimiterCount": len(pieces) - 1,
        "startsWithDelimiter": body.startswith(delimiter[2:] + b"\r\n"),
        "endsWithDelimiter": (b"\r\n" + body).endswith(delimiter + b"--\r\n"),
        "headsHaveLoneBreaks": any(b"\r" in head or b"\n" in head for head in heads),
    }


def received(environ, body):
    content_type = environ.get("CONTENT_TYPE")
    boundary = parse_options_header(content_type)[1].get("boundary")
    return {
        "contentType": content_type,
        "contentLength": environ.get("CONTENT_LENGTH"),
        "transferEncoding": environ.get("HTTP_TRANSFER_ENCODING"),
        "byteCount": len(body),
        "framing": framing(boundary, body) if boundary else None,
    }


def application_of(parse):
    def application(environ, start_response):
        body = environ["wsgi.input"].read()
        try:
            answer = {"received": received(environ, body), **parse(environ, body)}
            status = "200 OK"
        except Exception:
            answer = {"error": traceback.format_exc()}
            status = "400 Bad Request"
        data = json.dumps(answer).encode("ascii")
        start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(data)))])
        return [data]

    return application


application = DispatcherMiddleware(
    httpbin.app,
    {
        "/werkzeug": application_of(by_werkzeug),
        "/email": application_of(by_email),
        "/urlencoded": application_of(as_urlencoded),
    },
)
