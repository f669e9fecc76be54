/** The page of a project: a timeline of its days, and its sessions, each with a link to its own page. Pure. */
import type { CountedSession } from "../../archive/queries/sessions.ts"
import { allTokens } from "../../archive/queries/token-use.ts"
import { count, cut, oneLine } from "../../util/text.ts"
import { documentHtml } from "./document.ts"
import { type Content, type Html, html } from "./markup.ts"
import type { PageWords } from "./page-data.ts"
import { sessionTitle } from "./session-page.ts"
import { toolbar } from "./toolbar.ts"

export interface ListedSession {
  readonly session: CountedSession
  /** File name of its page, beside this one. */
  readonly file: string
  /** Name of its project, where there are several. */
  readonly project: string | undefined
}

export interface ProjectData {
  /** Its folder. */
  readonly folder: string
  readonly name: string
  /** Newest first. */
  readonly sessions: readonly ListedSession[]
}

interface Day {
  readonly day: string
  readonly sessions: readonly ListedSession[]
}

const PROMPT = 300

export const projectPage = (data: ProjectData, words: PageWords, version: string): Iterable<Html> =>
  documentHtml(data.name, version, body(data, words))

function* body({ folder, name, sessions }: ProjectData, words: PageWords): Generator<Html> {
  const days: Day[] = [...Map.groupBy(sessions, ({ session }) => words.day(session.started ?? session.ended))]
    .map(([day, all]) => ({ day, sessions: all }))
    .toSorted((a, b) => (a.day < b.day ? 1 : -1))
  const sum = (of: (session: CountedSession) => number): number =>
    sessions.reduce((total, { session }) => total + of(session), 0)
  const facts: Content[] = [
    folder !== "" && html`<code>${folder}</code>`,
    count(sessions.length, "session"),
    count(
      sum(({ turns }) => turns),
      "turn",
    ),
    count(
      sum(({ tools }) => tools),
      "tool call",
    ),
    `${words.tokens(sum(tokensOf))} tokens`,
  ]
  yield html`<header class="top"><h1>${name}</h1><ul class="about">${facts.filter(Boolean).map((fact) => html`<li>${fact}</li>`)}</ul></header>
${toolbar({}, false)}
<div class="columns project"><main>
${timeline(days, words)}
`
  const most = Math.max(1, ...sessions.map(({ session }) => session.turns))
  for (const { day, sessions: all } of days) {
    yield html`<section class="day group" id="day-${day}"><h2>${day}</h2>\n`
    for (const one of all) yield sessionRow(one, most, words)
    yield html`</section>\n`
  }
  yield html`<p class="nothing" hidden>No session is like that.</p></main></div>\n`
}

const tokensOf = ({ tokens }: CountedSession): number => allTokens(tokens)

function sessionRow({ session, file, project }: ListedSession, most: number, words: PageWords): Html {
  const { title, firstPrompt, turns, errors, cost, branch, started } = session
  const tokens = tokensOf(session)
  const facts: Content[] = [
    words.hour(started),
    project,
    count(turns, "turn"),
    errors > 0 && html`<span class="bad">${count(errors, "error")}</span>`,
    tokens > 0 && `${words.tokens(tokens)} tokens`,
    cost !== null && words.dollars(cost),
    branch !== null && html`<code>${branch}</code>`,
  ]
  return html`<a class="item session" data-kind="session" href="${file}"><b>${sessionTitle(session)}</b>
${title !== null && firstPrompt !== null && html`<span class="first">${cut(oneLine(firstPrompt), PROMPT)}</span>`}
<svg class="length" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.max(1, (turns / most) * 100).toFixed(1)}" height="4"/></svg>
<span class="facts">${facts.filter(Boolean).map((fact) => html`<span>${fact}</span>`)}</span></a>
`
}

const DAY = 86_400_000
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
  const turnsOf = ({ sessions }: Day): number => sessions.reduce((sum, { session }) => sum + session.turns, 0)
  const most = Math.max(1, ...known.map(turnsOf))
  const step = WIDTH / number
  const columns = known.flatMap((one) => {
    const at = (Date.parse(one.day) - start) / DAY
    if (at < 0) return []
    const height = Math.max(3, (turnsOf(one) / most) * HEIGHT)
    const tokens = one.sessions.reduce((sum, { session }) => sum + tokensOf(session), 0)
    return [
      html`<a href="#day-${one.day}"><title>${one.day}: ${count(one.sessions.length, "session")}, ${count(turnsOf(one), "turn")}, ${words.tokens(tokens)} tokens</title><rect class="field" x="${(at * step).toFixed(1)}" width="${step.toFixed(1)}" height="${HEIGHT}"/><rect class="bar" x="${(at * step + step * 0.1).toFixed(1)}" y="${(HEIGHT - height).toFixed(1)}" width="${(step * 0.8).toFixed(1)}" height="${height.toFixed(1)}"/></a>`,
    ]
  })
  return html`<figure class="timeline"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="Turns by day">${columns}</svg><figcaption><span>${new Date(start).toISOString().slice(0, 10)}</span><span>turns by day</span><span>${last.day}</span></figcaption></figure>`
}
