import { isJsonObject, type JsonObject } from "@postern/core";
import { expect, it } from "vitest";
import { changedIn, type PodSettings, podManifest } from "./pod.ts";

const settings: PodSettings = {
  ...{ namespace: "scripts", runtimeClass: "kata", image: "i", cpus: 1, longestSeconds: 60 },
  ...{ installation: "one", incarnation: "a" },
};

function made(): JsonObject {
  const pod: unknown = JSON.parse(
    JSON.stringify(podManifest(settings, { name: "p", program: "x", memoryMebibytes: 224 })),
  );
  return isJsonObject(pod) ? pod : {};
}

it("makes a pod without rights, credentials or much memory", () => {
  expect(made()).toMatchObject({
    spec: {
      runtimeClassName: "kata",
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      activeDeadlineSeconds: 60,
      securityContext: { runAsNonRoot: true, runAsUser: 65534, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        {
          stdinOnce: true,
          resources: { limits: { memory: "256Mi", cpu: "1", "ephemeral-storage": "64Mi" } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          },
        },
      ],
      volumes: [
        { name: "tmp", emptyDir: { medium: "Memory", sizeLimit: "16Mi" } },
        { name: "workspace", emptyDir: { medium: "Memory", sizeLimit: "16Mi" } },
      ],
    },
  });
});

it("accepts an unchanged pod", () => {
  expect(changedIn(made(), settings)).toBeUndefined();
  expect(changedIn({}, settings)).toContain("RuntimeClass");
});
