/** The form in which accounts keep a person's name. Names that differ only in case or Unicode form are one name. */
export function normalizedName(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

/** Whether two names are the same person's. A person without an account is compared in the same way. */
export function isSamePerson(one: string, other: string | undefined): boolean {
  return other !== undefined && normalizedName(one) === normalizedName(other);
}
