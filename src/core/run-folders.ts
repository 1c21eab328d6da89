/** Where the files of runs lie, for a person to read: one folder a run. */
export interface RunFolders {
  /**
   * Absolute path of the run's folder. It is made when it is missing, with `workspace/`, `deliverables/`, `archive/` and
   * `logs/` inside.
   *
   * @throws RuntimeFault `run_invalid` for an id that is no run's (`[A-Za-z0-9_-]{1,64}`), or whose folder is not a folder
   */
  open(tenant: string, runId: string): string;
  /**
   * The same path when the folder is there; nothing is made for who only reads.
   *
   * @throws RuntimeFault `run_invalid`, as `open`
   */
  find(tenant: string, runId: string): string | undefined;
}
