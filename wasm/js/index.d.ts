import type {
  AnswerOfEntry,
  Answers,
  Entry,
  Failure,
  FileMatches,
  FilePart,
  GlobQuery as FormatGlobQuery,
  GrepQuery as FormatGrepQuery,
  Hit,
  Lfs,
  LsQuery,
  PlanQuery as FormatPlanQuery,
  Plan,
  PrefetchQuery as FormatPrefetchQuery,
  Prefetched,
  Query,
  RefItem,
  RefsQuery as FormatRefsQuery,
  Text,
  Truncated,
  AnswerStats,
} from "./format.js";

// What questions and answers are made of, as every face of gitsip has it.
export type {
  AnswerStats,
  Cut,
  Entry,
  EntryType,
  FileMatches,
  FilePart,
  Hit,
  Lfs,
  NearLine,
  Plan,
  Prefetched,
  RefItem,
  Text,
  Truncated,
} from "./format.js";

/** The text as a string, with U+FFFD where it is no UTF-8. */
export function textOf(text: Text): string;
/** The text as bytes. */
export function bytesOf(text: Text): Uint8Array;

/** What went wrong. */
export class GitsipError extends Error implements Failure {
  name: "GitsipError";
  /** A stable word: that of `kind`, or a more precise one such as `is_folder`, `freed`. */
  code: string;
  kind:
    | "auth"
    | "cancelled"
    | "conflict"
    | "corrupt"
    | "io"
    | "limit"
    | "malformed"
    | "not_found"
    | "rate_limited"
    | "transport"
    | "unsupported"
    | "usage";
  /** What a caller can do about errors of this kind. */
  hint: string;
  /** Whether the same question may succeed later. */
  retryable: boolean;
}

/**
 * Loads the WebAssembly from a module, an address, a response or bytes. `open` does it by
 * itself where `gitsip_bg.wasm` lies beside `index.js`.
 */
export function init(
  source?: WebAssembly.Module | URL | string | Response | BufferSource,
): Promise<void>;

/** Bytes of the WebAssembly's memory. It never shrinks: ending its worker gives it back. */
export function wasmMemoryBytes(): number;

/** A credential; a string is a token, in the form that the host wants. */
export type Auth =
  string | { token: string } | { bearer: string } | { username: string; password?: string };

export interface Progress {
  phase:
    | "connecting"
    | "listing"
    | "waiting"
    | "receiving"
    | "resolving"
    | "searching"
    | "over"
    | "pausing"
    | "widening"
    | "working";
  objects: number;
  total_objects: number | null;
  bytes: number;
  /** What there is to say in words. */
  note: string | null;
}

export interface OpenOptions {
  /** A credential, or who is asked for one: first, and once more when it was refused. */
  auth?:
    | Auth
    | null
    | ((
        origin: string,
        asked: "first" | "refused",
      ) => Auth | null | undefined | Promise<Auth | null | undefined>);
  /** Ends opening; each question takes one of its own. */
  signal?: AbortSignal;
  /** Bytes that everything the host sends may occupy at once; 256 MiB. */
  maxMemory?: number;
  onProgress?: (progress: Progress) => void;
  /** In place of the runtime's own; it has to stream. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Sends each request to this address with that of the repository behind it. */
  corsProxy?: string;
  /** Headers beside git's, or who makes them for an address. */
  headers?:
    | Record<string, string>
    | ((url: string) => Record<string, string> | Promise<Record<string, string>>);
}

export interface Signal {
  signal?: AbortSignal;
}

/** The parameters of a question, as the format has them. */
export type Params<Method extends Query["method"]> = Extract<Query, { method: Method }>["params"];

// What calls say in other places than in a question.
type Iterated<Asked> = Omit<Asked, "cursor" | "patterns" | "ref"> & Signal;

/** Bounds of an answer. An iterator counts `limit` over all pages. */
export type Bounds = Pick<LsQuery, "limit" | "max_bytes" | "budget"> & Signal;
export type RefsQuery = Omit<FormatRefsQuery, "cursor"> & Signal;
export type GlobQuery = Iterated<FormatGlobQuery>;
export type GrepQuery = Omit<Iterated<FormatGrepQuery>, "fixed_strings">;
export type PlanQuery = Iterated<FormatPlanQuery>;
export type PrefetchQuery = Iterated<FormatPrefetchQuery>;

/** One page of an answer, as the command line, sessions and MCP give it. */
export interface Answer<Item> extends Omit<AnswerOfEntry, "items"> {
  items: Item[];
}

export interface Stats {
  protocol: number | null;
  requests: number;
  retries: number;
  bytes_received: number;
  objects: number;
  cache_hits: number;
  cache_misses: number;
  memory: Memory;
  elapsed_ms: number;
  fallbacks: string[];
  loaded?: { objects: number; bytes: number; ms: number };
  exchanges: {
    kind: string;
    objects: number;
    first: string | null;
    status: number | null;
    bytes: number;
    ms: number;
    error: string | null;
    is_open: boolean;
  }[];
}

/** Where the memory of a repository is, in bytes, and what had to go for lack of it. */
export interface Memory {
  packed_bytes: number;
  text_bytes: number;
  copies_bytes: number;
  table_bytes: number;
  other_bytes: number;
  used_bytes: number;
  peak_bytes: number;
  max_bytes: number;
  evicted_objects: number;
  evicted_bytes: number;
  refetched_objects: number;
  refetched_bytes: number;
}

export interface MemoryReport extends Memory {
  objects: number;
  /** Of the whole instance, which all repositories of a page share. */
  wasm_bytes: number;
}

/** What a question finds, a page at a time behind the scenes. */
export interface Pages<Item> extends AsyncIterable<Item> {
  /** Why it ended before everything was found; `null` when it did not. */
  readonly truncated: Truncated | null;
  /** What each page cost. */
  readonly stats: AnswerStats[];
  toArray(): Promise<Item[]>;
}

/** A file, whole. */
export class File {
  private constructor();
  readonly commit: string;
  readonly path: string;
  readonly resolved_path: string;
  /** Six octal digits. */
  readonly mode: string;
  readonly blob: string;
  readonly size: number;
  readonly lfs: Lfs | null;
  readonly bytes: Uint8Array;
  /** The content as text, with U+FFFD where it is no UTF-8. */
  text(): string;
}

export interface Dirent {
  name: string;
  parentPath: string;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

export interface FsStats {
  size: number;
  mode: number;
  oid: string;
  mtimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

/** A read-only `fs.promises`; errors carry Node's codes, and writing is `EROFS`. */
export interface SnapshotFs {
  readonly promises: SnapshotFs;
  access(path: string, mode?: number): Promise<void>;
  lstat(path: string): Promise<FsStats>;
  readFile(path: string, options?: { encoding?: null } | null): Promise<Uint8Array>;
  readFile(path: string, options: string | { encoding: string }): Promise<string>;
  readdir(path: string, options?: { withFileTypes?: false }): Promise<string[]>;
  readdir(path: string, options: { withFileTypes: true }): Promise<Dirent[]>;
  readlink(path: string): Promise<string>;
  realpath(path: string): Promise<string>;
  stat(path: string): Promise<FsStats>;
}

export type Pattern = string | RegExp | (string | RegExp)[];

/** One commit of a repository. */
export class Snapshot {
  private constructor();
  readonly commit: string;
  /** The full name of the ref it was taken of; `null` for an id. */
  readonly ref: string | null;
  readonly warning: string | null;
  readonly repo: Repo;
  readonly fs: SnapshotFs;
  /** One page of the answer to any question about this commit. */
  ask<Method extends keyof Answers>(
    method: Method,
    params?: Omit<Params<Method>, "ref">,
    options?: Signal,
  ): Promise<Answers[Method]>;
  read(path: string, options?: Signal & { follow?: boolean }): Promise<File>;
  /** Fetched together; of a path that cannot be read the error. */
  readMany(
    paths: Iterable<string>,
    options?: Signal & { follow?: boolean },
  ): Promise<(File | GitsipError)[]>;
  /** Counted from 1: `"10:20"`, `"10:"`, `":20"`, `10`, `[10, 20]`. */
  readLines(
    path: string,
    range?: string | number | [number, number],
    options?: Signal,
  ): Promise<FilePart>;
  ls(path?: string, query?: Bounds & { recursive?: boolean }): Promise<Entry[]>;
  stat(path: string, options?: Signal): Promise<Entry>;
  walk(path?: string, query?: Bounds): Pages<Entry>;
  glob(patterns: string | string[], query?: GlobQuery): Pages<Entry>;
  grep(pattern: Pattern, query?: GrepQuery & { output_mode?: "lines" }): Pages<Hit>;
  grep(pattern: Pattern, query: GrepQuery & { output_mode: "files" | "count" }): Pages<FileMatches>;
  prefetch(query?: PrefetchQuery): Promise<Prefetched>;
  /** What a search of these files would cost, before any of them is fetched. */
  plan(query?: PlanQuery): Promise<Plan>;
}

/** A repository on the other side of a network. */
export class Repo {
  private constructor();
  /** One page of the answer to any question. */
  ask<Method extends keyof Answers>(
    method: Method,
    params?: Params<Method>,
    options?: Signal,
  ): Promise<Answers[Method]>;
  /** The refs as the host has them now. */
  refs(query?: RefsQuery): Promise<RefItem[]>;
  /** The same; snapshots taken before stay where they are. */
  refresh(query?: RefsQuery): Promise<RefItem[]>;
  snapshot(name?: string, options?: Signal): Promise<Snapshot>;
  stats(): Stats;
  memoryReport(): MemoryReport;
  /** What is held, as bytes for `load` of another time. */
  save(): Uint8Array;
  load(bytes: Uint8Array): { objects: number; bytes: number };
  /** Ends calls under way, and gives what is held back to the instance. */
  free(): void;
  [Symbol.dispose](): void;
}

/** Opens a repository: one request, and no object is fetched. */
export function open(url: string | URL, options?: OpenOptions): Promise<Repo>;
