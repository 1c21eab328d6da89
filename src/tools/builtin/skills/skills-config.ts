/** The `skills` section of a configuration file. Only src/config imports this: skills themselves know no zod. */
import { z } from "zod";

export interface SkillsFile {
  readonly folders?: readonly string[] | undefined;
  readonly agents?: Readonly<Record<string, readonly string[]>> | undefined;
}

export const skillsSchema: z.ZodType<SkillsFile> = z.strictObject({
  folders: z
    .array(z.string().min(1))
    .max(100)
    .optional()
    .describe(
      "Folders of skills (`FOLDER/NAME/SKILL.md`), relative to this file; of two with one name the first found wins.",
    ),
  agents: z
    .record(z.string().min(1), z.array(z.string().min(1)).max(32))
    .optional()
    .describe("Skills that an agent is held to in each of its runs, by the agent's name."),
});
