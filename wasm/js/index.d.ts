/** Text that may be no UTF-8: `bytes` are base64. */
export type Text = { text: string } | { bytes: string };

/** The text as a string, with U+FFFD where it is no UTF-8. */
export function textOf(text: Text): string;
/** The text as bytes. */
export function bytesOf(text: Text): Uint8Array;

/** What went wrong. */
export class GitsipError extends Error {
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

/** What the answer to one question may cost. */
export interface Budget {
  max_requests?: number;
  max_bytes?: number;
  deadline_ms?: number;
  max_results?: number;
}

/** Bounds of an answer. An iterator counts `limit` over all pages. */
export interface Bounds extends Signal {
  limit?: number;
  max_bytes?: number;
  budget?: Budget;
}

export interface RefsQuery extends Bounds {
  patterns?: string[];
  branches?: boolean;
  tags?: boolean;
  only_refs?: boolean;
  sort?: "name" | "version";
  reverse?: boolean;
}

export interface GlobQuery extends Bounds {
  types?: string[];
  path?: string;
}

export interface GrepQuery extends Bounds {
  ignore_case?: boolean;
  smart_case?: boolean;
  word?: boolean;
  invert?: boolean;
  multiline?: boolean;
  binary?: boolean;
  globs?: string[];
  names?: string[];
  types?: string[];
  paths?: string[];
  before?: number;
  after?: number;
  output_mode?: "lines" | "files" | "count";
  max_count?: number;
  max_total?: number;
  max_columns?: number;
}

export interface PrefetchQuery extends Signal {
  globs?: string[];
  paths?: string[];
  max_blob_bytes?: number;
}

export type Truncated =
  "budget" | "bytes" | "damaged" | "deadline" | "limit" | "requests" | "total" | "transfer";

export interface AnswerStats {
  requests: number;
  bytes_received: number;
  elapsed_ms: number;
  fallbacks: string[];
  warnings: string[];
  search: {
    files_searched: number;
    files_matched: number;
    binary_files_skipped: number;
    bytes_searched: number;
    unsearched?: { files: number | null; bytes_known: number; files_of_unknown_size: number };
  } | null;
}

/** One page of an answer, as the command line, sessions and MCP give it. */
export interface Answer<Item> {
  schema: string;
  commit: string | null;
  ref: Text | null;
  items: Item[];
  truncated: Truncated | null;
  next: string | null;
  stats: AnswerStats;
}

export interface RefItem {
  name: Text;
  id: string | null;
  peeled: string | null;
  symref: Text | null;
}

export type EntryType = "file" | "folder" | "submodule" | "symlink";

export interface Entry {
  path: Text;
  type: EntryType;
  /** Six octal digits. */
  mode: string;
  id: string;
  /** Bytes of a file that is held already. */
  size: number | null;
}

export interface Cut {
  before_bytes: number;
  after_bytes: number;
}

export interface NearLine {
  line: number;
  text: Text;
  cut: Cut | null;
}

export interface Hit extends NearLine {
  path: Text;
  /** In bytes, from 1. */
  column: number | null;
  /** In bytes of `text`. */
  ranges: { start: number; end: number }[];
  blob: string;
  before: NearLine[];
  after: NearLine[];
}

export interface FileMatches {
  path: Text;
  blob: string;
  count: number | null;
}

export interface Lfs {
  oid: string;
  size: number;
}

export interface FilePart {
  type: "file";
  path: Text;
  resolved_path: Text;
  mode: string;
  blob: string;
  size: number;
  text: Text;
  first_line: number;
  last_line: number;
  total_lines: number;
  cut: Cut | null;
  lfs: Lfs | null;
}

export interface PlanQuery extends Signal {
  globs?: string[];
  names?: string[];
  types?: string[];
  paths?: string[];
  /** Fetch nothing, not even folders. */
  held_only?: boolean;
  budget?: Budget;
}

/** Only `bytes_estimated` is an estimate. */
export interface Plan {
  commit: string;
  is_complete: boolean;
  files: number;
  trees_missing: number;
  blobs_missing: number;
  requests: number;
  bytes_known: number;
  blobs_of_unknown_size: number;
  bytes_estimated: number;
  estimated_from: "held" | "typical" | null;
}

export interface Prefetched {
  commit: string;
  blobs_held: number;
  blobs_left_out: number;
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
  ask(method: string, params?: object, options?: Signal): Promise<Answer<unknown>>;
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
  ask(method: string, params?: object, options?: Signal): Promise<Answer<unknown>>;
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
