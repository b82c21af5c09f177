/** Answers what comes through `port`, for a worker of one's own that `connect` is given. */
export function serve(port: MessagePort): void;
