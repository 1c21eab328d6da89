import { visible } from "@postern/core";

/** An attempt to leave the root, or to reach what no tool may. These rejections are announced as `file.rejected`. */
const guardSentences = {
  path_invalid:
    "is not a path that a tool can use: it contains a NUL, is longer than 4095 bytes, or a part of it is longer than 255.",
  absolute: "is absolute. Name a path that begins with a root, as list_files shows them.",
  parent: "holds `..`. Write the path from its root, without going up.",
  root_unknown: "begins with no root that can be used here.",
  reserved: "is the run's own record and not for tools. A folder of that name in the workspace is `workspace/…`.",
  read_only: "is in a root that is read-only.",
  protected: "is in `.git`: what is in there may be run, so tools do not change it.",
  link: "is a symbolic link, or leads through one; links are not followed.",
  hard_link: "has more than one name (a hard link), so it may be a file from elsewhere.",
  special_file: "is not a plain file: a device, a pipe or a socket is never opened.",
  other_device: "lies on another file system than its root.",
  root_replaced:
    "cannot be reached: the folder of its root is not the one it was when the tools were made. Restart to accept it.",
} as const;

/** The path is allowed, but the file is not what the caller expects. */
const plainSentences = {
  not_found: "does not exist.",
  exists: "exists already.",
  is_a_folder: "is a folder, or is written like one.",
  not_a_folder: "is no folder, or leads through a file.",
  not_empty: "is a folder that is not empty. Delete what is in it first.",
  not_text: "is not UTF-8 text.",
  encoding_unknown: "was not used: its encoding is not known here.",
  no_match: "does not hold the text that was to be replaced.",
  patch_invalid: "is named by a patch that cannot be read.",
  changed: "was changed by another program meanwhile; nothing was written. Read it again.",
  too_large: "is too large for this.",
  range_invalid: "cannot be read by that range.",
  content_invalid: "was not written: the content is not what its encoding says.",
  pattern_invalid: "was not searched: the pattern cannot be used.",
  search_stopped: "was not searched to the end.",
  busy: "cannot be worked on now: too much is going on. Try again.",
  no_permission: "cannot be used: the operating system does not permit it.",
  disk_full: "was not written: the disk is full. What was there before is untouched.",
  across_devices: "cannot be moved there: the two roots are on different file systems. Write a copy, then delete.",
  run_unusable: "cannot be reached: this run has no folder.",
  io_failed: "cannot be used: the disk reports an error.",
} as const;

/**
 * Why a file was not used, in one word for programs.
 *
 * @public
 */
export type RejectionReason = keyof typeof guardSentences | keyof typeof plainSentences;

/**
 * A file was not used. It is thrown inside file tools, so that every handle closes on the way out; `Files.answer` makes it
 * the tool's answer. Its message continues a sentence that begins with the path, and never holds a path of the machine.
 *
 * @example
 * throw new FileRejection("range_invalid", "has only 10 lines.");
 *
 * @public
 */
export class FileRejection extends Error {
  override readonly name = "Rejection";
  readonly reason: RejectionReason;

  /** @param detail replaces the reason's own sentence */
  constructor(reason: RejectionReason, detail?: string) {
    super(detail ?? { ...guardSentences, ...plainSentences }[reason]);
    this.reason = reason;
  }

  /** The reason about this path, for the model. */
  sentence(path: string): string {
    return `${path === "" ? "The path" : visible(path)} ${this.message}`;
  }

  /** Whether the call tried to get around the guard. */
  get isGuard(): boolean {
    return Object.hasOwn(guardSentences, this.reason);
  }
}

const byCode: ReadonlyMap<unknown, RejectionReason> = new Map<unknown, RejectionReason>([
  ["ENOENT", "not_found"],
  ["EEXIST", "exists"],
  ["ELOOP", "link"],
  ["EMLINK", "link"],
  ["EXDEV", "other_device"],
  ["EISDIR", "is_a_folder"],
  ["ENOTDIR", "not_a_folder"],
  ["ENOTEMPTY", "not_empty"],
  ["ENAMETOOLONG", "path_invalid"],
  ["EACCES", "no_permission"],
  ["EPERM", "no_permission"],
  ["EROFS", "no_permission"],
  ["EBUSY", "no_permission"],
  ["EMFILE", "busy"],
  ["ENFILE", "busy"],
  ["EAGAIN", "busy"],
  ["ETXTBSY", "busy"],
  ["ENOSPC", "disk_full"],
  ["EDQUOT", "disk_full"],
  ["EFBIG", "disk_full"],
  ["EIO", "io_failed"],
  ["ENXIO", "special_file"],
]);

/**
 * An error of the operating system as a rejection. Returns undefined for any other error, which is a bug.
 *
 * @public
 */
export function rejectionOf(error: unknown): FileRejection | undefined {
  if (error instanceof FileRejection) return error;
  if (!(error instanceof Error) || !("code" in error) || !("syscall" in error)) return undefined;
  return new FileRejection(byCode.get(error.code) ?? "io_failed");
}
