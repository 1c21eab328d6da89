import { defined, type Mark } from "@postern/core";

/** What is known of an artifact beside its bytes: where they come from, and what the result guardrails found in them. */
export interface Judgement {
  /** They are from an open-world tool, so third parties may have written them. */
  readonly openWorld?: true;
  readonly marks?: readonly Mark[];
  /** Why no reader gets them. */
  readonly withheld?: string;
  /** Guardrails have examined their text. */
  readonly examined?: true;
  /** Why guardrails have not examined them. Without this and `examined`, there was no guardrail when they were kept. */
  readonly notExamined?: string;
}

/** Equal bytes may come from several results; the stricter of the two counts. */
export function stricter(one: Judgement = {}, other: Judgement = {}): Judgement {
  const marks = allMarks(one.marks, other.marks);
  const examined = one.examined ?? other.examined;
  return defined({
    openWorld: one.openWorld ?? other.openWorld,
    marks: marks.length === 0 ? undefined : marks,
    withheld: one.withheld ?? other.withheld,
    examined,
    notExamined: examined === true ? undefined : (one.notExamined ?? other.notExamined),
  });
}

/** Each mark once. */
export function allMarks(one: readonly Mark[] = [], other: readonly Mark[] = []): readonly Mark[] {
  const isNew = (mark: Mark): boolean =>
    !one.some(({ guardrail, why }) => guardrail === mark.guardrail && why === mark.why);
  return [...one, ...other.filter(isNew)];
}

/** Whether third parties wrote the bytes. */
export function isFromThirdParties({ openWorld, marks }: Judgement = {}): boolean {
  return openWorld === true || marks !== undefined;
}

export function isJudged({ examined, notExamined }: Judgement = {}): boolean {
  return examined === true || notExamined !== undefined;
}

export const noText = "they are not text";
