import { route } from "./route.ts";

export const metrics = {
  read: route("get", "/metrics", "metrics:read", {
    summary: "What Prometheus reads: counts, times and sizes, in its text format.",
    answer: "text/plain",
  }),
};
