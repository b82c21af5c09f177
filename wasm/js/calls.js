// Calls into the WebAssembly: their signals, their errors, and what becomes of those under
// way when a repository is freed.

import { cancelled, errorOf, usage } from "./errors.js";
import { bindings } from "./load.js";

export class Calls {
  #running = new Set();
  #freed = false;

  /** Runs `work` with a stop handle that `signal` pulls. */
  async run(signal, work) {
    if (this.#freed) throw freed();
    if (signal?.aborted) throw cancelled(signal.reason);
    const stop = new bindings.Stop();
    const cancel = () => stop.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    this.#running.add(cancel);
    try {
      return await work(stop);
    } catch (error) {
      if (this.#freed) throw freed();
      throw signal?.aborted ? cancelled(signal.reason) : errorOf(error);
    } finally {
      this.#running.delete(cancel);
      signal?.removeEventListener("abort", cancel);
      stop.free();
    }
  }

  /** The same for what needs no promise. */
  now(work) {
    if (this.#freed) throw freed();
    try {
      return work();
    } catch (error) {
      throw errorOf(error);
    }
  }

  get isFreed() {
    return this.#freed;
  }

  /** Ends what is under way, and lets nothing begin. */
  free() {
    this.#freed = true;
    for (const cancel of this.#running) cancel();
  }
}

function freed() {
  return usage("freed", "the repository was freed; open it again");
}
