/**
 * What a command of `bash` leaves for the next: its folder and its exported variables. It comes from a process of the
 * command, so nothing in it is trusted: the next shell takes it as data and evaluates none of it.
 */
export const mostStateBytes = 64 * 1024;

/** The state of a new session. `stateFrom` gives the same form: the folder, then `NAME=VALUE`, each with a NUL behind it. */
export const newState: Buffer = Buffer.from(".\0");

const assignment = /^([A-Za-z_][A-Za-z0-9_]*)=/;

/**
 * Variables that decide how a shell reads or runs a line, or what the system's loader puts into a program. They end with
 * their command. `PATH` stays: a line that names a program by its whole path runs that program.
 */
const interpreted = new RegExp(
  `^(?:${[
    ...["BASH.*", "LD_.*", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "ENV", "SHELLOPTS", "POSIXLY_CORRECT"],
    ...["IFS", "PS\\d", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "EXECIGNORE", "FUNCNEST", "TMOUT"],
    ...["OPTIND", "OPTERR", "OPTARG", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCH.*", "DIRSTACK", "HISTCMD"],
    ...["FUNCNAME", "GROUPS", "UID", "EUID", "PPID", "PWD", "SHLVL", "_"], // bash sets these itself
  ].join("|")})$`,
);

/** @param environment what `env -0` writes */
export function stateFrom(environment: Buffer): Buffer {
  const entries = environment.toString("latin1").split("\0").slice(0, -1); // latin1 keeps every byte
  const folder = entries.find((entry) => entry.startsWith("PWD=/"))?.slice("PWD=".length) ?? ".";
  const variables = entries.filter((entry) => {
    const [, name] = assignment.exec(entry) ?? [];
    return name !== undefined && !interpreted.test(name);
  });
  return Buffer.from([folder, ...variables].map((entry) => `${entry}\0`).join(""), "latin1");
}
