/** The page of a project: a timeline of its days, and its sessions, each with a link to its own page. Pure. */

import { agentTitle, UNMARKED } from "../../../agents/agents.ts"
import { DAY } from "../../../base/local-time.ts"
import { count, cut, oneLine } from "../../../base/text.ts"
import { type LabelShown, labelWords } from "../../../views/labels.ts"
import type { CountedSession, Session } from "../../../views/queries/sessions.ts"
import { allTokens } from "../../../views/queries/token-use.ts"
import type { Turn } from "../../../views/turn.ts"
import type { PageLink, PageWords, SessionData, SubagentData, WordsAbout } from "./document.ts"
import { type Content, documentHtml, type Html, html, LIST, markdown } from "./document.ts"
import { filesHtml, type ListedFile } from "./file-page.ts"
import { anchorOf, subagentHtml, type TurnWorld, turnHtml } from "./turn-html.ts"

interface ListedSession {
  readonly session: CountedSession
  /** File name of its page, beside this one. */
  readonly file: string
  /** Name of its project, where there are several. */
  readonly project: string | undefined
  readonly label?: LabelShown
  /** US dollars at list prices; undefined: no price is known of its models. */
  readonly cost: number | undefined
}

export interface ProjectData {
  /** Its folder. */
  readonly folder: string
  readonly name: string
  /** The last active first. */
  readonly sessions: readonly ListedSession[]
  /** By name. */
  readonly files: readonly ListedFile[]
}

interface Day {
  readonly day: string
  readonly sessions: readonly ListedSession[]
}

const PROMPT = 300

export const projectPage = (data: ProjectData, words: PageWords, version: string): Iterable<Html> =>
  documentHtml(data.name, version, body(data, words), LIST)

function* body({ folder, name, sessions, files }: ProjectData, words: PageWords): Generator<Html> {
  const dayOf = ({ session }: ListedSession): string => words.day(lastActive(session))
  const days: Day[] = [...Map.groupBy(sessions, dayOf)]
    .map(([day, all]) => ({ day, sessions: all }))
    .toSorted((a, b) => (a.day < b.day ? 1 : -1))
  const sum = (of: (session: CountedSession) => number): number =>
    sessions.reduce((total, { session }) => total + of(session), 0)
  const turns = sum(ownTurns)
  const tools = sum((one) => one.tools)
  const facts: Content[] = [
    folder !== "" && html`<code>${folder}</code>`,
    count(sessions.length, "session"),
    count(turns, "turn"),
    count(tools, "tool call"),
    `${words.tokens(sum(tokensOf))} tokens`,
    costHtml(costOf(sessions), words),
    files.length > 0 && html`<a href="#files">${count(files.length, "changed file")}</a>`,
  ]
  yield html`<header class="top"><h1>${name}</h1><ul class="about">${facts.filter(Boolean).map((fact) => html`<li>${fact}</li>`)}</ul></header>
${listTools(sessions)}
<div class="columns project"><main>
<p id="counted" role="status"></p>
<ol id="results" hidden></ol>
<p class="nothing" hidden></p>
<div id="list">
${timeline(days, words)}
`
  const most = Math.max(1, ...sessions.map(({ session }) => session.turns))
  const pinned = sessions.filter(({ label }) => label?.pinned)
  if (pinned.length > 0) {
    yield html`<section class="day group"><h2>Pinned <span class="sum">${dayFacts(pinned, words)}</span></h2>\n`
    for (const one of pinned) yield sessionRow(one, dayOf(one), most, words)
    yield html`</section>\n`
  }
  for (const { day, sessions: whole } of days) {
    const all = whole.filter((one) => !pinned.includes(one))
    if (all.length === 0) continue
    yield html`<section class="day group" id="day-${day}"><h2>${day} <span class="sum">${dayFacts(all, words)}</span></h2>\n`
    for (const one of all) yield sessionRow(one, day, most, words)
    yield html`</section>\n`
  }
  yield html`${filesHtml(files, words)}</div></main></div>\n`
}

/** As lists of sessions are ordered: what goes on for days is where it was left. */
const lastActive = ({ started, ended }: Session): string | null => ended ?? started

/** Those that a fork shares with its origin are the origin's. */
const ownTurns = ({ turns, shared }: CountedSession): number => turns - shared

const tokensOf = ({ tokens }: CountedSession): number => allTokens(tokens)

const costOf = (sessions: readonly ListedSession[]): number | undefined =>
  sessions.some(({ cost }) => cost !== undefined)
    ? sessions.reduce((sum, { cost = 0 }) => sum + cost, 0)
    : undefined

const costHtml = (cost: number | undefined, words: PageWords): Content =>
  cost !== undefined && cost > 0 && html`<span title="At list prices">${words.dollars(cost)}</span>`

function dayFacts(sessions: readonly ListedSession[], words: PageWords): string {
  const tokens = sessions.reduce((sum, { session }) => sum + tokensOf(session), 0)
  const cost = costOf(sessions) ?? 0
  return [
    count(sessions.length, "session"),
    tokens > 0 && `${words.tokens(tokens)} tokens`,
    cost > 0 && words.dollars(cost),
  ]
    .filter(Boolean)
    .join(" · ")
}

/** With all that the script filters and sums up. */
function sessionRow(
  { session, file, project, cost, label }: ListedSession,
  day: string,
  most: number,
  words: PageWords,
): Html {
  const { title, firstPrompt, turns, errors, branch, program } = session
  const tokens = tokensOf(session)
  const facts: Content[] = [
    ...labelWords(label).map((one) => html`<b>${one}</b>`),
    words.hour(lastActive(session)),
    program !== UNMARKED && agentTitle(program),
    project,
    count(turns, "turn"),
    errors > 0 && html`<span class="bad">${count(errors, "error")}</span>`,
    tokens > 0 && `${words.tokens(tokens)} tokens`,
    costHtml(cost, words),
    branch !== null && html`<code>${branch}</code>`,
  ]
  const data = html`data-project="${project ?? ""}" data-agent="${agentTitle(program)}" data-branch="${branch ?? ""}" data-day="${day}" data-turns="${ownTurns(session)}" data-errors="${errors}" data-tokens="${tokens}" data-cost="${(cost ?? 0).toFixed(4)}"`
  return html`<a class="item session" data-kind="session" href="${file}" ${data}><b>${sessionTitle(session)}</b>
${title !== null && firstPrompt !== null && html`<span class="first">${cut(oneLine(firstPrompt), PROMPT)}</span>`}
<span class="facts"><svg class="length" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.max(2, (turns / most) * 100).toFixed(1)}" height="4"/></svg>${facts.filter(Boolean).map((fact) => html`<span>${fact}</span>`)}</span></a>
`
}

/** What the page of sessions is searched and filtered with: by what they differ in. Only the script makes it work. */
function listTools(sessions: readonly ListedSession[]): Html {
  const choice = (name: string, title: string, of: (one: ListedSession) => string): Content => {
    const counts = [...Map.groupBy(sessions, of)]
      .filter(([value]) => value !== "")
      .map(([value, all]) => [value, all.length] as const)
      .toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    if (counts.length < 2) return undefined
    return html`<select data-choice="${name}" aria-label="${title}"><option value="">${title}</option>${counts.map(
      ([value, n]) => html`<option value="${value}">${value} (${n})</option>`,
    )}</select>`
  }
  const failed = sessions.filter(({ session }) => session.errors > 0).length
  return html`<div class="tools" role="search">
<input id="search" type="search" placeholder="Search all that was said ( / )" aria-label="Search all that was said" autocomplete="off" spellcheck="false">
<span class="kinds">${choice("project", "All projects", ({ project }) => project ?? "")}${choice("agent", "All agents", ({ session }) => agentTitle(session.program))}${choice("branch", "All branches", ({ session }) => session.branch ?? "")}${failed > 0 && html`<button type="button" id="errors" aria-pressed="false" title="Sessions in which something failed">With errors</button>`}<button type="button" id="clear" hidden>Clear</button></span>
<span class="right">${themeButton}</span>
</div>`
}

/** Width and height of the timeline, and the most columns in it. */
const WIDTH = 800
const HEIGHT = 80
const MOST_DAYS = 366

/** A column for each day from the first to the last, as high as it has turns. */
function timeline(days: readonly Day[], words: PageWords): Html | undefined {
  const known = days.filter(({ day }) => /^\d{4}-\d\d-\d\d$/.test(day))
  const [last, first] = [known[0], known.at(-1)]
  if (last === undefined || first === undefined) return undefined
  const end = Date.parse(last.day)
  const number = Math.min(MOST_DAYS, Math.max(14, (end - Date.parse(first.day)) / DAY + 1))
  const start = end - (number - 1) * DAY
  const turnsOf = ({ sessions }: Day): number =>
    sessions.reduce((sum, { session }) => sum + ownTurns(session), 0)
  const most = Math.max(1, ...known.map(turnsOf))
  const step = WIDTH / number
  const columns = known.flatMap((one) => {
    const at = (Date.parse(one.day) - start) / DAY
    if (at < 0) return []
    const height = Math.max(3, (turnsOf(one) / most) * HEIGHT)
    const tokens = one.sessions.reduce((sum, { session }) => sum + tokensOf(session), 0)
    return [
      html`<a href="#day-${one.day}" tabindex="-1"><title>${one.day}: ${count(one.sessions.length, "session")}, ${count(turnsOf(one), "turn")}, ${words.tokens(tokens)} tokens</title><rect class="field" x="${(at * step).toFixed(1)}" width="${step.toFixed(1)}" height="${HEIGHT}"/><rect class="bar" x="${(at * step + step * 0.1).toFixed(1)}" y="${(HEIGHT - height).toFixed(1)}" width="${(step * 0.8).toFixed(1)}" height="${height.toFixed(1)}"/></a>`,
    ]
  })
  return html`<figure class="timeline"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="group" aria-label="By day">${columns}</svg><figcaption><span>${new Date(start).toISOString().slice(0, 10)}</span><span class="measures"><button type="button" data-measure="turns" aria-pressed="true">Turns</button><button type="button" data-measure="tokens" aria-pressed="false">Tokens</button><button type="button" data-measure="cost" aria-pressed="false">Cost</button></span><span>${last.day}</span></figcaption></figure>`
}

/* The page of a session, or of several, one below the other. Pure. */

const TITLE = 120

const sessionTitle = ({ title, firstPrompt, id }: Session): string =>
  cut(oneLine(title ?? firstPrompt ?? id), TITLE)

export function sessionPage(
  sessions: readonly SessionData[],
  words: PageWords,
  version: string,
  index?: PageLink,
): Iterable<Html> {
  const [first] = sessions
  const title = sessions.length === 1 ? sessionTitle(first!.session) : count(sessions.length, "session")
  return documentHtml(title, version, bodies(sessions, words, index))
}

function* bodies(
  sessions: readonly SessionData[],
  words: PageWords,
  index: PageLink | undefined,
): Generator<Html> {
  for (const [n, data] of sessions.entries()) {
    yield head(data, words, n === 0 ? index : undefined)
    if (n === 0) yield toolbar(KINDS, true)
    yield* columns(data, n, words)
  }
}

const KINDS = {
  prompt: "Prompts",
  answer: "Answers",
  tool: "Tools",
  file: "Files",
  error: "Errors",
  thinking: "Thinking",
}

const head = (
  data: SessionData,
  words: PageWords,
  index: PageLink | undefined,
): Html => html`<header class="top">
${index && html`<a class="up" href="${encodeURIComponent(index.file)}">${index.name}</a>`}
<h1>${sessionTitle(data.session)}</h1>
<ul class="about">${aboutSession(data, words).map((fact) => html`<li>${fact}</li>`)}</ul>
</header>
`

/** @param n which session of the page */
function* columns(data: SessionData, n: number, words: PageWords): Generator<Html> {
  const { session, outline, context, compactions, turns, mediaOf, pageOf } = data
  const waiting = [...data.subagents]
  const world: TurnWorld = {
    words,
    cwd: session.cwd,
    labelsOf: data.labelsOf,
    contextOf: (handle) => context.get(handle),
    mediaOf,
    pageOf,
    compactionAt: (time) => compactions.find((one) => one.time === time),
    subagentOf: (brief) => takeFrom(waiting, brief),
  }
  yield html`<div class="columns">
<nav class="contents" aria-label="Turns"><input type="checkbox" id="contents-${n}"><label for="contents-${n}">Contents</label>
<ol>${outline.map(
    ({ handle, seq, prompt, via, errors, takenBack }) =>
      html`<li${takenBack && html` class="taken-back"`}><a href="#${anchorOf(handle)}"><span>${seq}</span>${via === "none" ? "(before the first prompt)" : cut(oneLine(prompt), TITLE)}${errors > 0 && html` <i class="bad" title="${count(errors, "error")}">${errors}</i>`}</a></li>\n`,
  )}</ol></nav>
<main>
${data.about.map(wordsAboutHtml)}
`
  for (const turn of turns) yield* turnHtml(turn, world)
  // Those of which the archive lacks the call that started them.
  while (data.isWhole && waiting.length > 0) yield* subagentHtml(waiting.shift()!, world)
  yield html`<p class="nothing" hidden>Nothing in this session matches.</p>
</main>
${tokenMeter(outline, context, words)}
</div>
`
}

function takeFrom(waiting: SubagentData[], brief: string): SubagentData | undefined {
  const at = waiting.findIndex((one) => one.brief === brief)
  return at < 0 ? undefined : waiting.splice(at, 1)[0]
}

function aboutSession(
  { session, lineage, estimate = 0, compactions, labelsOf, outline }: SessionData,
  words: PageWords,
): Content[] {
  const { tokens, cost, cwd, branch, program, version, started, ended, turns, shared, tools, errors } =
    session
  const total = allTokens(tokens)
  const others = outline.filter(({ via }) => via === "none").map(({ seq }) => seq)
  const facts: Content[] = [
    ...labelsOf(session.id).map((label) => html`<b>${label}</b>`),
    cwd !== null && html`<code>${cwd}</code>`,
    branch !== null && html`branch <code>${branch}</code>`,
    words.period(started, ended),
    shared === 0 ? count(turns, "turn") : `${count(turns, "turn")} (${shared} shared)`,
    others.length > 0 && `not counting no. ${others.join(", ")}`,
    count(tools, "tool call"),
    errors > 0 && html`<span class="bad">${count(errors, "error")}</span>`,
    compactions.length > 0 && count(compactions.length, "compaction"),
    lineage.subagents.length > 0 && count(lineage.subagents.length, "subagent"),
    total > 0 &&
      html`<span title="${words.tokens(tokens.input)} input, ${words.tokens(tokens.cacheCreation)} written to cache, ${words.tokens(tokens.cacheRead)} read from cache, ${words.tokens(tokens.output)} output">${words.tokens(total)} tokens</span>`,
    cost !== null && html`<span title="By Claude Code’s own account">${words.dollars(cost)}</span>`,
    estimate > 0 &&
      html`<span title="Estimated from its tokens and those of its subagents">about ${words.dollars(estimate)} at list prices</span>`,
    version !== null && `${agentTitle(program)} ${version}`,
    html`session <code>${session.id}</code>`,
    ...lineage.parents.map(
      ({ session: id, kind }) => html`${kind === "fork" ? "begins with" : "continues"} <code>${id}</code>`,
    ),
  ]
  return facts.filter(Boolean)
}

/** Words about the session that are not of it. */
function wordsAboutHtml({ title, items, by }: WordsAbout): Html {
  const rows = items.map(
    ({ label, text, handle }) =>
      html`<li><strong>${label}</strong> <span>${handle === undefined ? text : html`${markdown(text, true)} <a href="#${anchorOf(handle)}">${handle}</a>`}</span></li>\n`,
  )
  return html`<section class="about-session group"><h2>${title}</h2><ul class="item" data-kind="note">${rows}</ul><p class="note">${by}</p></section>\n`
}

/* How full the context was in each turn: a bar for each, from top to bottom. Pure. */

/** Height of a turn's bar, in pixels, while there is room; a session of many turns is squeezed into the window. */
const BAR = 12
const METER_WIDTH = 100
/** Characters of a prompt in a bar's title. */
const PROMPT_MARK = 80

/** @returns undefined if nothing is known of the context */
export function tokenMeter(
  turns: readonly Turn[],
  context: ReadonlyMap<string, number>,
  words: PageWords,
): Html | undefined {
  const most = turns.reduce((tokens, { handle }) => Math.max(tokens, context.get(handle) ?? 0), 0)
  if (most === 0) return undefined
  const height = turns.length * BAR
  let before = 0
  const bars = turns.map((turn, n) => {
    const tokens = context.get(turn.handle) ?? 0
    const isDrop = tokens > 0 && tokens < before / 2
    if (tokens > 0) before = tokens
    const width = Math.max(1, (tokens / most) * METER_WIDTH).toFixed(1)
    const title = `${turn.seq}. ${cut(oneLine(turn.prompt), PROMPT_MARK)}: ${words.tokens(tokens)} tokens${turn.errors > 0 ? `, ${turn.errors} failed` : ""}`
    return html`<a href="#${anchorOf(turn.handle)}"><title>${title}</title><rect class="field" y="${n * BAR}" width="${METER_WIDTH}" height="${BAR}"/><rect class="bar${turn.errors > 0 && " failed"}" y="${n * BAR + 1}" width="${width}" height="${BAR - 2}"/>${isDrop && html`<rect class="drop" y="${n * BAR}" width="${METER_WIDTH}" height="1.5"/>`}</a>`
  })
  return html`<aside class="meter" aria-label="Tokens in the context, by turn"><p title="The most tokens at a time">Context<br><b>${words.tokens(most)}</b></p>
<svg viewBox="0 0 ${METER_WIDTH} ${height}" height="${height}" preserveAspectRatio="none">${bars}</svg></aside>`
}

/* What a page is searched and filtered with. Only the script makes it work, so only the script shows it. Pure. */

/**
 * @param kinds what can be chosen, by the `data-kind` of its items
 * @param isFolded whether there is anything to unfold
 */
export const toolbar = (
  kinds: Readonly<Record<string, string>>,
  isFolded: boolean,
): Html => html`<div class="tools" role="search">
<input id="search" type="search" placeholder="Search this page ( / )" aria-label="Search this page" autocomplete="off" spellcheck="false">
<span class="kinds">${Object.entries(kinds).map(
  ([kind, title]) => html`<button type="button" data-filter="${kind}" aria-pressed="false">${title}</button>`,
)}</span>
<span id="found" role="status"></span>
<span class="right">${isFolded && html`<button type="button" id="unfold" aria-pressed="false">Unfold</button>`}
${themeButton}</span>
</div>`

const themeButton = html`<button type="button" id="theme" title="Dark or light" aria-label="Dark or light">◐</button>`
