import fc from "fast-check";
import { expect, it } from "vitest";
import { byUrgency } from "../../console/src/screens/approvals/urgency.ts";
import type { Risk } from "../../packages/core/src/call.ts";
import { risks } from "../../packages/core/src/risk.ts";
import { endOfUrgency, urgencyOf } from "../../packages/postern/src/store/urgency.ts";

const day = Date.UTC(2026, 10, 20);
const request = fc.record({
  expiresAt: fc.integer({ min: day, max: day + 300_000 }),
  risk: fc.constantFrom(...risks),
});
const shown = ({ expiresAt, risk }: { readonly expiresAt: number; readonly risk: Risk }, id: string) => ({
  approval_id: id,
  expires_at: new Date(expiresAt).toISOString(),
  risk_level: risk,
});

it("orders requests as the stores do: by the minute of their end, by risk, by their end", () => {
  void fc.assert(
    fc.property(request, request, (one, other) => {
      const stored = Math.sign(urgencyOf(one) - urgencyOf(other));
      const [a, b] = [shown(one, "apr_a"), shown(other, "apr_b")];
      expect(Math.sign(byUrgency(a, b))).toBe(stored === 0 ? -1 : stored);
      const [sooner, later] = [Math.floor(one.expiresAt / 60_000), Math.floor(other.expiresAt / 60_000)];
      if (sooner !== later) expect(stored).toBe(Math.sign(sooner - later));
      else if (one.risk !== other.risk)
        expect(stored).toBe(Math.sign(risks.indexOf(other.risk) - risks.indexOf(one.risk)));
      else expect(stored).toBe(Math.sign(one.expiresAt - other.expiresAt));
    }),
  );
});

it("an urgency contains the end of its request", () => {
  const [minutes, minuteMs] = [...endOfUrgency.matchAll(/\d+/g)].map(Number);
  if (minutes === undefined || minuteMs === undefined) throw new Error(endOfUrgency);
  void fc.assert(
    fc.property(request, (one) => {
      const urgency = urgencyOf(one);
      expect(Math.floor(urgency / minutes) * minuteMs + (urgency % minuteMs)).toBe(one.expiresAt);
    }),
  );
});
