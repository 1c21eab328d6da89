import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";

export interface Gateways extends AsyncDisposable {
  readonly a: Runtime;
  readonly b: Runtime;
  /** What ran, and on which gateway. */
  readonly ran: string[];
  readonly problems: string[];
}

/**
 * Two gateways on one store, each with `echo` (safe) and `mail` (high risk).
 *
 * @param options of each of them, by its name
 */
export async function twoGateways(
  store: string,
  options: (name: "a" | "b") => Omit<RuntimeOptions, "store"> = () => ({}),
): Promise<Gateways> {
  const ran: string[] = [];
  const problems: string[] = [];
  const input = { type: "object", properties: { to: { type: "string" } } } as const;
  const one = (name: "a" | "b"): Promise<Runtime> => {
    const execute = async ({ to }: { readonly to?: string }): Promise<string> => {
      ran.push(`${name} ${to ?? ""}`);
      return `to ${to}`;
    };
    const common = { description: "Records that it ran.", input, execute } as const;
    return createRuntime({
      tools: [
        defineTool({ ...common, name: "echo", risk: "safe", effects: "read", idempotent: true }),
        defineTool({ ...common, name: "mail", risk: "high", effects: "write", idempotent: false }),
      ],
      approvals: { patience: "suspend" },
      autonomy: "A2",
      log: (problem) => problems.push(`${name}: ${problem}`),
      ...options(name),
      store,
    });
  };
  const a = await one("a");
  const b = await one("b");
  const close = async (): Promise<void> => {
    await Promise.all([a.close(), b.close()]);
  };
  return { a, b, ran, problems, [Symbol.asyncDispose]: close };
}
