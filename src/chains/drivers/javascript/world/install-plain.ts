import { chance, stopwatch } from "./chance.ts";
import { cloned } from "./clone.ts";
import { give } from "./give.ts";

give("structuredClone", (value: unknown) => cloned(value));
give("crypto", chance);
give("performance", stopwatch);
