import { z } from "@hono/zod-openapi";

/** What good answers are made of, each written once; fields.ts has what requests are made of. */

export const text: z.ZodString = z.string();
export const whole: z.ZodInt = z.int();
export const when: z.ZodString = text.openapi({ format: "date-time" });
