/** The folders of runs, for a person to read: one folder a run. */
export interface RunFolders {
  /**
   * Absolute path of the run's folder. A missing folder is made, with `workspace/`, `deliverables/`, `archive/` and
   * `logs/` inside.
   *
   * @throws RuntimeFault `request_invalid` for an id that does not match `[A-Za-z0-9_-]{1,64}`, or when the path is not a
   * folder
   */
  open(tenant: string, runId: string): string;
  /**
   * The same path if the folder exists. Nothing is made.
   *
   * @throws RuntimeFault `request_invalid`, as `open`
   */
  find(tenant: string, runId: string): string | undefined;
}
