/** Shows people how full the context window is. Pure. */
import type { ContextReport } from "../autopilot/examine.ts"
import type { Filling } from "../autopilot/fill.ts"
import { report } from "../autopilot/report.ts"
import { formatTokens, percent } from "../autopilot/tokens.ts"
import type { Screen } from "./screen.ts"
import { fit } from "./style.ts"
import { renderPairs } from "./table.ts"

/** Entries shown of each kind; the others are added up. */
const SHOWN = 5

export function renderContext(context: ContextReport, { style, columns }: Screen): string[] {
  const { compactsAt, learnt, pressure, trend, estimated, fill } = context
  const head = report({ ...context, judgement: context, runway: context.runway ?? undefined })
  const how = learnt ? "seen in earlier compactions" : "by the host's formula"
  const width = columns - 14
  const pairs = [
    ["compacts at", `${formatTokens(compactsAt)} tokens, ${how}; ${percent(pressure)} of that is used`],
    ...(trend === null ? [] : [["a turn adds", `~${formatTokens(trend)} tokens`] as const]),
    ...(estimated
      ? [["estimated", "from the length of the text: the host has not counted since"] as const]
      : []),
    ["filled by", fit(shares(fill.kinds), width)],
    ["files", fit(shares(fill.files), width)],
  ] as const
  return [head, ...renderPairs(pairs, style)]
}

function shares(fillings: readonly Filling[]): string {
  const shown = fillings.slice(0, SHOWN).map(({ name, percent: share }) => `${name} ${share.toFixed(1)}%`)
  const rest = fillings.slice(SHOWN).reduce((sum, { percent: share }) => sum + share, 0)
  return [...shown, ...(rest > 0 ? [`others ${rest.toFixed(1)}%`] : [])].join(", ")
}
