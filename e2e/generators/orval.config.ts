import { defineConfig } from "orval";

const documents = {
  placement: "placement/1.39", baremetal: "baremetal/1.82",
  "placement-extended": "berth/placement/1.7", "baremetal-extended": "berth/baremetal/1.2",
};

export default defineConfig(Object.fromEntries(Object.entries(documents).map(([name, document]) => [name, {
  input: `../../openapi/${document}.json`,
  output: {
    target: `generated/orval/${name}.ts`,
    client: "fetch",
    override: { mutator: { path: "src/orval-fetch.ts", name: "send", extension: ".js" } },
  },
}])));
