// The one error of the package.

export class GitsipError extends Error {
  name = "GitsipError";

  /** `failure` is `{ code, kind, message, hint, retryable }`, as every face writes it. */
  constructor(failure, options) {
    super(failure.message, options);
    this.code = failure.code;
    this.kind = failure.kind;
    this.hint = failure.hint;
    this.retryable = failure.retryable;
  }
}

/** What the WebAssembly threw as the error that people get. */
export function errorOf(thrown) {
  if (thrown instanceof GitsipError) return thrown;
  if (typeof thrown === "string") {
    try {
      return new GitsipError(JSON.parse(thrown));
    } catch {
      return broken(thrown);
    }
  }
  return broken(thrown);
}

export function usage(code, message) {
  return new GitsipError({
    code,
    kind: "usage",
    message: `usage: ${message}`,
    hint: "correct the question",
    retryable: false,
  });
}

export function cancelled(cause) {
  const message = "cancelled: the signal was aborted";
  const hint = "ask again; what was fetched is kept";
  return new GitsipError(
    { code: "cancelled", kind: "cancelled", message, hint, retryable: true },
    { cause },
  );
}

function broken(cause) {
  const message = `io: the WebAssembly failed (${cause}); this is a bug of gitsip`;
  const hint = "start the worker or page anew, and report it";
  return new GitsipError(
    { code: "broken", kind: "io", message, hint, retryable: false },
    { cause },
  );
}
