/** The `skills` section of a configuration file. Only packages/postern/src/config imports this: skills themselves know no zod. */
import { z } from "zod";

export const skillsSchema = z.strictObject({
  folders: z
    .array(z.string().min(1))
    .max(100)
    .exactOptional()
    .describe(
      "Folders of skills (`FOLDER/NAME/SKILL.md`), relative to this file; of two with one name the first found wins.",
    ),
  links_and_groups: z
    .boolean()
    .exactOptional()
    .describe("Follow links to skills, also out of the folders, and look for skills in groups. Default: false."),
  agents: z
    .record(z.string().min(1), z.array(z.string().min(1)).max(32))
    .exactOptional()
    .describe("Skills that an agent is held to in each of its runs, by the agent's name."),
});
