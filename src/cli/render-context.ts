/** Shows people how full the context window is. Pure. */
import { report } from "../autopilot/advice.ts"
import type { ContextReport } from "../autopilot/context-report.ts"
import { formatTokens } from "../autopilot/token-figures.ts"
import type { Filling } from "../autopilot/window-fill.ts"
import { percent } from "../util/text.ts"
import type { Screen } from "./screen.ts"
import { fit } from "./style.ts"
import { renderPairs } from "./text-table.ts"

/** Entries shown of each kind. */
const SHOWN = 5
/** Characters shown of a name. */
const NAME = 24

const SWITCHED_OFF = {
  manual: "only on /compact: automatic compaction is switched off",
  never: "never: DISABLE_COMPACT is set",
} as const

export function renderContext(context: ContextReport, { style, columns }: Screen): string[] {
  const { compactsAt, compacts, learnt, pressure, trend, estimated, fill } = context
  const head = report({ ...context, judgement: context, runway: context.runway ?? undefined })
  const how = learnt ? "seen in earlier compactions" : "by Claude Code's formula"
  const width = columns - 14
  const used = `${percent(pressure, 1)} of that is used`
  const point =
    compacts === "automatic"
      ? ([["compacts at", `${formatTokens(compactsAt)} tokens, ${how}; ${used}`]] as const)
      : ([
          ["compacts", SWITCHED_OFF[compacts]],
          ["full at", `${formatTokens(compactsAt)} tokens; ${used}`],
        ] as const)
  const pairs = [
    ...point,
    ...(trend === null ? [] : [["a turn adds", `~${formatTokens(trend)} tokens`] as const]),
    ...(estimated
      ? [["estimated", "from the length of the text: Claude Code has not counted since"] as const]
      : []),
    ["filled by", shares(fill.kinds, width)],
    ["files", shares(fill.files, width)],
  ] as const
  return [head, ...renderPairs(pairs, style)]
}

/** As many as fit; the others are added up, so that what is shown sums to 100 %. */
function shares(fillings: readonly Filling[], width: number): string {
  let text = listed(fillings, 1)
  for (let shown = 2; shown <= Math.min(SHOWN, fillings.length); shown++) {
    const longer = listed(fillings, shown)
    if (Bun.stringWidth(longer) <= width) text = longer
  }
  return fit(text, width)
}

function listed(fillings: readonly Filling[], most: number): string {
  const shown = fillings
    .slice(0, most)
    .map(({ name, percent: share }) => `${ending(name)} ${share.toFixed(1)}%`)
  const rest = fillings.slice(most).reduce((sum, { percent: share }) => sum + share, 0)
  return [...shown, ...(rest > 0 ? [`others ${rest.toFixed(1)}%`] : [])].join(", ")
}

/** Of a long path, the end tells most. */
const ending = (name: string): string => (name.length <= NAME ? name : `…${name.slice(1 - NAME)}`)
