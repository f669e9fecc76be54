/** The page of a file: its lines, each with the turn that wrote it, and beside them why. Pure. */
import { count, cut, oneLine } from "../../../base/text.ts"
import {
  type Content,
  documentHtml,
  type Html,
  html,
  markdown,
  type PageLink,
  type PageWords,
  WHOLE,
} from "./document.ts"
import style from "./file.css" with { type: "text" }
import script from "./file.js" with { type: "text" }

/** A turn that wrote lines of the file. */
export interface WritingTurn {
  /** With `ctx:`. */
  readonly handle: string
  readonly time: string | null
  readonly prompt: string
  readonly answer: string
  readonly isTakenBack: boolean
  /** Its place on its session's page; undefined: there is no such page beside this one. */
  readonly address: string | undefined
}

interface FileLine {
  readonly text: string
  /** Whether it is blank or stands in many places, so that nothing tells where it is from, only where it is now. */
  readonly isCommon: boolean
}

/** Lines one below the other that come from the same. */
interface LineRun {
  /** Number of the first, from 1. */
  readonly from: number
  readonly lines: readonly FileLine[]
  /** `common`: all of them are. `unknown`: no archived session is known to have written them. */
  readonly source: { readonly turn: number; readonly isPiece: boolean } | "common" | "unknown"
}

export interface FileOnPage {
  /** Below the project's folder, or whole. */
  readonly name: string
  /** Absolute. */
  readonly path: string
  /** The page that lists it. */
  readonly index: PageLink | undefined
  /** How many turns changed it. */
  readonly changes: number
  /** What the page shows, in a few words. */
  readonly state: string
  /** Lines that no archived session is known to have written, without those that stand everywhere. */
  readonly unknown: number
  /** The latest first. */
  readonly turns: readonly WritingTurn[]
  readonly runs?: readonly LineRun[]
  /** Why there are no lines. */
  readonly reason?: string
}

export interface ListedFile {
  /** File name of its page, beside this one. */
  readonly file: string
  /** Below the project's folder, or below a folder above that where there are several projects, or whole. */
  readonly name: string
  /** How many turns changed it, and when the last of them did. */
  readonly turns: number
  readonly last: string | null
  /** Why the page does not show its lines; undefined: it does. */
  readonly reason: string | undefined
}

/** UTF-16 units and lines of what a turn was asked, and of its answer. */
const PROMPT = 1200
const ANSWER = 700
const LINES = 12
/** UTF-16 units of a prompt beside its lines. */
const GLANCE = 70
/** Places of a turn that are named. */
const PLACES = 12

export function filePage(data: FileOnPage, words: PageWords, version: string): Iterable<Html> {
  return documentHtml(data.name, version, body(data, words), { ...WHOLE, style, scripts: [script] })
}

function* body(data: FileOnPage, words: PageWords): Generator<Html> {
  const { name, path, index, changes, state, unknown, turns, runs, reason } = data
  const lines = runs?.reduce((sum, run) => sum + run.lines.length, 0) ?? 0
  const facts: Content[] = [
    html`<code>${path}</code>`,
    state,
    runs && count(lines, "line"),
    `changed in ${count(changes, "turn")}`,
    unknown > 0 && html`<span class="unknown">${count(unknown, "line")} not from an archived session</span>`,
  ]
  yield html`<header class="top">${index && html`<a class="up" href="${encodeURIComponent(index.file)}#files">${index.name}</a>`}
<h1 class="path">${name.slice(name.lastIndexOf("/") + 1)}</h1>
<ul class="about">${facts.filter(Boolean).map((fact) => html`<li>${fact}</li>`)}</ul></header>
<div class="tools" role="region" aria-label="Keys and looks"><span class="keys">${turns.length > 0 && html`<kbd>j</kbd> <kbd>k</kbd> line, <kbd>Enter</kbd> why, <kbd>Esc</kbd> close`}</span><span class="right"><button type="button" id="theme" title="Dark or light" aria-label="Dark or light">◐</button></span></div>
`
  if (runs === undefined) {
    yield html`<main class="unshown"><p>Not shown: ${reason}.</p></main>\n`
    return
  }
  yield html`<div class="columns source"><main class="code" aria-label="Lines">\n`
  for (const run of runs) yield runHtml(run, turns, words)
  yield html`</main>\n<aside class="whys" aria-label="Where the lines come from">
<button class="close" type="button" aria-label="Close">×</button>
<p class="hint" data-unknown="${UNKNOWN}" data-common="${COMMON}">${turns.length > 0 ? "Choose a line to see why it is there." : "No archived session is known to have written any of these lines."}</p>
${turns.map((turn, n) => whyHtml(turn, n, placesOf(runs, n), words))}</aside></div>\n`
}

const UNKNOWN = "No archived session is known to have written this line."
const COMMON = "A line that is blank or stands in many places: nothing tells where it is from."

function runHtml({ from, lines, source }: LineRun, turns: readonly WritingTurn[], words: PageWords): Html {
  const isPlain = typeof source === "string"
  const code = lines.map(
    ({ text, isCommon }, n) =>
      html`<i id="${from + n}"${isCommon && !isPlain && html` class="common"`}>${text}\n</i>`,
  )
  if (isPlain) {
    const label = source === "unknown" ? "not from an archived session" : ""
    return html`<section class="run bare ${source}"><p class="from">${label}</p><pre>${code}</pre></section>\n`
  }
  const turn = turns[source.turn]!
  const told = html`<b>${words.day(turn.time)}</b> ${source.isPiece && "in part: "}${cut(oneLine(turn.prompt), GLANCE) || turn.handle}`
  const label =
    turn.address === undefined ? html`<span>${told}</span>` : html`<a href="${turn.address}">${told}</a>`
  return html`<section class="run" data-why="${source.turn}"><p class="from">${label}</p><pre>${code}</pre></section>\n`
}

function whyHtml(turn: WritingTurn, n: number, places: readonly Html[], words: PageWords): Html {
  const { handle, time, prompt, answer, isTakenBack, address } = turn
  const when = words.moment(time)
  const more = places.length - PLACES
  return html`<article id="why-${n}"><h2>${address === undefined ? when : html`<a href="${address}">${when}</a>`} <span class="handle">${handle}</span></h2>
${isTakenBack && html`<p class="mark">Rewound: the conversation continued from an earlier turn</p>`}
${prompt.trim() !== "" && html`<pre class="asked">${beginning(prompt, PROMPT)}</pre>`}
${answer.trim() !== "" && markdown(beginning(answer, ANSWER))}
<p class="places">${places.slice(0, PLACES).map((place, m) => html`${m > 0 && ", "}${place}`)}${more > 0 && ` and ${count(more, "more place")}`}</p>
${address === undefined ? html`<p class="note">Its session has no page beside this one.</p>` : html`<p><a href="${address}">The whole turn</a></p>`}
</article>\n`
}

/** Where in the file lines of a turn are. */
const placesOf = (runs: readonly LineRun[], turn: number): Html[] =>
  runs.flatMap(({ from, lines, source }) => {
    if (typeof source === "string" || source.turn !== turn) return []
    const to = from + lines.length - 1
    return [
      html`<a href="#${from}">${from === to ? `line ${from}` : `lines ${from}–${to}`}</a>${source.isPiece && " in part"}`,
    ]
  })

function beginning(text: string, most: number): string {
  const lines = text.trim().split("\n", LINES + 1)
  const first = lines.slice(0, LINES).join("\n")
  return cut(lines.length > LINES ? `${first}\n…` : first, most)
}

/* The files of a project, on its page. */

/** @param words how times are written */
export function filesHtml(files: readonly ListedFile[], words: PageWords): Html | undefined {
  if (files.length === 0) return undefined
  return html`<section class="files group" id="files"><h2>${count(files.length, "changed file")}</h2>
${files.map((one) => fileRow(one, words))}</section>\n`
}

function fileRow({ file, name, turns, last, reason }: ListedFile, words: PageWords): Html {
  const end = name.lastIndexOf("/") + 1
  const facts = [
    reason === undefined ? undefined : `not shown: ${reason}`,
    count(turns, "turn"),
    words.day(last),
  ]
  return html`<a class="item file" data-kind="file" href="${file}"><code class="name">${name.slice(0, end)}<b>${name.slice(end)}</b></code><span class="facts">${facts.filter(Boolean).map((fact) => html`<span>${fact}</span>`)}</span></a>\n`
}
