/** The preview of the selected turn, as lines. Pure. */

import { agentTitle } from "../../agents/agents.ts"
import { oneLine } from "../../base/text.ts"
import type { Hit } from "../../find/hit.ts"
import { type SessionSummary, summaryParts, summarySource } from "../../find/session-summary.ts"
import type { Snippet } from "../../find/snippet.ts"
import { labelWords } from "../../views/labels.ts"
import { dated } from "../screen.ts"
import { dotted } from "../style.ts"
import {
  type Charset,
  harmless,
  type Styled,
  type StyledLine,
  spansOf,
  styled,
  wrappedCells,
} from "./cell-text.ts"
import { type Found, type PickerState, selectedHit } from "./picker-state.ts"

interface Section {
  readonly title: string
  readonly body: Snippet
}

/** Of the selected turn: as much as is known so far. */
export function previewLines(
  state: Pick<PickerState, "found" | "selected" | "preview">,
  columns: number,
  charset: Charset,
): readonly StyledLine[] {
  const hit = selectedHit(state as PickerState)
  if (hit === undefined) return []
  const { preview } = state
  const turn = preview?.handle === hit.handle ? preview.turn : undefined
  const key = turn ?? hit
  const known = memory.get(key)
  if (known?.columns === columns && known.unicode === charset.unicode) return known.lines
  const sections =
    turn === undefined
      ? briefSections(hit)
      : [
          { title: PROMPT, body: turn.prompt },
          ...(turn.found === undefined ? [] : [{ title: speakerOf(hit), body: turn.found }]),
          { title: ANSWER, body: turn.answer },
          ...summarySection(turn.summary),
        ]
  const lines = [
    ...wrappedCells([...head(hit, state.found!)], columns, charset),
    ...sections.flatMap((section) => sectionLines(section, columns, charset)),
  ]
  memory.set(key, { columns, unicode: charset.unicode, lines })
  return lines
}

/** Wrapping is what takes the time of a picture, and a scrolled preview is the same lines. */
const memory = new WeakMap<object, { columns: number; unicode: boolean; lines: readonly StyledLine[] }>()

/** What the search itself gave, until the turn is read. A prompt or answer that is null is what was found. */
function briefSections(hit: Hit): Section[] {
  const { prompt, answer, role, tool, snippet, marks } = hit
  const isPrompt = prompt === null && role === "human"
  const isAnswer = answer === null && role === "assistant" && tool === null
  const title = isPrompt ? PROMPT : isAnswer ? ANSWER : speakerOf(hit)
  return [
    ...(prompt === null ? [] : [{ title: PROMPT, body: { text: prompt, marks: [] } }]),
    { title, body: { text: snippet, marks } },
    ...(answer === null ? [] : [{ title: ANSWER, body: { text: answer, marks: [] } }]),
  ]
}

/** What the session was about, last: a model's words are told apart by their title. */
function summarySection(summary: SessionSummary): Section[] {
  const text = summaryParts(summary)
    .map(({ label, text: part }) => `${label}: ${oneLine(part)}`)
    .join("\n")
  return [{ title: `Session, ${summarySource(summary)}`, body: { text, marks: [] } }]
}

const PROMPT = "Prompt"
const ANSWER = "Answer"

const SPEAKERS: Readonly<Record<string, string>> = {
  human: "Human",
  assistant: "Claude",
  tool: "Result",
  host: "Claude Code",
}

const speakerOf = ({ role, tool, program }: Hit): string => {
  const isAgents = program !== undefined && (role === "assistant" || role === "host")
  const speaker = isAgents ? agentTitle(program) : (SPEAKERS[role] ?? role)
  return dotted(speaker, tool !== null && tool).replace(" · ", ": ")
}

function* head(hit: Hit, { nameOf }: Found): Generator<Styled> {
  yield styled(hit.handle, "title")
  const project = hit.project === null ? "" : nameOf(hit.project)
  const fate = [...(hit.others ? ["written by others"] : []), ...(hit.takenBack ? ["rewound"] : [])]
  fate.push(...labelWords(hit.label))
  if (hit.promptsOnly) fate.push("prompts only")
  if (hit.program !== undefined) fate.push(agentTitle(hit.program))
  const where = [dated(hit.time, 0), project, `turn ${hit.seq} of ${hit.session.slice(0, 8)}`]
  yield styled(harmless(`  ${[...where, ...fate].filter(Boolean).join("  ")}`).replace(/\n/g, " "), "dim")
}

function sectionLines({ title, body }: Section, columns: number, charset: Charset): StyledLine[] {
  if (body.text.trim() === "") return []
  const text = body.text.trimEnd()
  return [
    [],
    [styled(harmless(title), "title")],
    ...wrappedCells(spansOf(text, body.marks), columns, charset),
  ]
}
