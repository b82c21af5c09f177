// Answers page by page as one async iterator: a page crosses the boundary at a time, and
// the next one is asked for when the last one was used up.

// Small enough that first results come early and leaving early costs little.
const PAGE_BYTES = 1 << 20;

// Why a page ended where the next one goes on without more being granted.
const GOES_ON = new Set(["bytes", "limit", "damaged"]);

/** What `method` finds, as an iterator that knows afterwards how it ended. */
export function pages(repo, method, { signal, ...params }) {
  return new Pages(repo, method, params, signal);
}

class Pages {
  #repo;
  #method;
  #params;
  #signal;

  /** Why what was found is not all there is; `null` when it is, or not yet known. */
  truncated = null;
  /** What the pages cost, one by one. */
  stats = [];

  constructor(repo, method, params, signal) {
    this.#repo = repo;
    this.#method = method;
    this.#params = params;
    this.#signal = signal;
  }

  async *[Symbol.asyncIterator]() {
    const params = { max_bytes: PAGE_BYTES, ...this.#params };
    let left = params.limit ?? Infinity;
    this.stats = [];
    for (;;) {
      if (left !== Infinity) params.limit = left;
      const page = await this.#repo.ask(this.#method, params, { signal: this.#signal });
      this.stats.push(page.stats);
      this.truncated = page.truncated;
      left -= page.items.length;
      yield* page.items;
      if (!page.next || left <= 0 || !GOES_ON.has(page.truncated)) return;
      params.cursor = page.next;
    }
  }

  /** All of it at once. */
  async toArray() {
    const items = [];
    for await (const item of this) items.push(item);
    return items;
  }
}
