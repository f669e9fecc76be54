/**
 * The host's own account of cost and work. `result` ends each query of print mode and the SDK, where the output was
 * recorded (`--output-format stream-json`); `cost-state` is what hosts from 2.1.329 on write into their transcripts.
 */
import { isObject, type JsonObject, stringOf } from "../transcript/json.ts"
import { tokensIn } from "../transcript/token-counts.ts"
import type { HostResult } from "../transcript/types.ts"

export function resultIn(type: "result" | "cost-state", line: JsonObject): HostResult {
  const isState = type === "cost-state"
  // Before 1.0, `cost_usd`.
  const cost = figure(isState ? line["totalCostUSD"] : (line["total_cost_usd"] ?? line["cost_usd"]))
  const { usage } = line
  return {
    kind: isState ? type : (stringOf(line["subtype"]) ?? "unknown"),
    isError: line["is_error"] === true,
    cost,
    requests: isState ? undefined : figure(line["num_turns"]),
    duration: isState ? undefined : figure(line["duration_ms"]),
    tokens: isState || !isObject(usage) ? undefined : tokensIn(usage),
    mark: stringOf(line["uuid"]) ?? MARKS.map((name) => line[name]).join(" "),
  }
}

/** What tells such lines apart, where they have no uuid. */
const MARKS = [
  ...["sessionId", "startTime", "totalDuration", "totalCostUSD"],
  ...["session_id", "duration_ms", "duration_api_ms", "total_cost_usd", "cost_usd", "num_turns"],
]

const figure = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined
