/** Renders search results for a terminal. Pure. */
import { folderOf } from "../archive/project.ts"
import type { ColdHit } from "../search/cold-search.ts"
import type { FarHit } from "../search/far-hit.ts"
import type { Hit } from "../search/hit.ts"
import { oneLine } from "../util/text.ts"
import type { Screen } from "./screen.ts"
import { dotted, type Style, safe } from "./style.ts"
import { ago } from "./when.ts"

export type AnyHit = Hit | ColdHit | FarHit

/**
 * Never cuts a hit's text, which was already chosen to be shown.
 *
 * @param everywhere whether the hits may be from several projects
 */
export function renderHits(hits: readonly AnyHit[], screen: Screen, everywhere: boolean): string[] {
  return hits.flatMap((hit, n) => [...(n > 0 ? [""] : []), ...renderHit(hit, screen, everywhere)])
}

function renderHit(hit: AnyHit, { style, now }: Screen, everywhere: boolean): string[] {
  const speaker = hit.tool === null ? (hit.role ?? undefined) : `${hit.role}, ${hit.tool}`
  const where = dotted(
    ago(hit.time, now),
    "cold" in hit && "cold",
    "far" in hit && `from ${hit.far.machine ?? hit.far.target}`,
    `${hit.seq === null ? placeOf(hit) : `turn ${hit.seq}`} of ${hit.session.slice(0, 8)}`,
    speaker,
    hit.takenBack && "taken back",
    everywhere && hit.project !== null && folderOf(hit.project),
    hit.why.length > 0 && `has ${hit.why.join(", ")}`,
  )
  const around = (label: string, text: string | null): string[] =>
    text === null ? [] : [style.dim(`  ${label}: ${safe(oneLine(text))}`)]
  return [
    `${style.bold(hit.handle ?? safe(hit.session))}  ${style.dim(safe(oneLine(where)))}`,
    ...around("prompt", hit.prompt),
    ...around("summary", "far" in hit ? hit.summary : null),
    `  ${marked(hit, style)}`,
    ...hit.also.map((piece) => style.dim(`  ${safe(oneLine(piece))}`)),
    ...around("answer", hit.answer),
  ]
}

const placeOf = (hit: AnyHit): string => ("line" in hit ? `line ${hit.line}` : "")

function marked({ snippet, marks }: AnyHit, style: Style): string {
  let text = ""
  let done = 0
  for (const [from, to] of marks) {
    text += safe(snippet.slice(done, from)) + style.bold(safe(snippet.slice(from, to)))
    done = to
  }
  return text + safe(snippet.slice(done))
}
