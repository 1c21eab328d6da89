/** A name as Python can say it: `create-issue` is `create_issue`. */
export function pythonName(name: string): string {
  return name.replace(/[^0-9A-Za-z_]/g, "_");
}
