/** The page of a session, or of several, one below the other. Pure. */

import type { Session } from "../../archive/queries/sessions.ts"
import { allTokens } from "../../archive/queries/token-use.ts"
import { count, cut, oneLine } from "../../util/text.ts"
import { documentHtml } from "./document.ts"
import { type Content, type Html, html } from "./markup.ts"
import type { PageLink, PageWords, SessionData, SessionNote, SubagentData } from "./page-data.ts"
import { tokenMeter } from "./token-meter.ts"
import { toolbar } from "./toolbar.ts"
import { anchorOf, subagentHtml, type TurnWorld, turnHtml } from "./turn-html.ts"

const TITLE = 120

export const sessionTitle = ({ title, firstPrompt, id }: Session): string =>
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
  const { session, outline, context, compactions, turns, mediaOf } = data
  const waiting = [...data.subagents]
  const world: TurnWorld = {
    words,
    cwd: session.cwd,
    contextOf: (handle) => context.get(handle),
    mediaOf,
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
${data.notes.map(noteHtml)}
`
  for (const turn of turns) yield* turnHtml(turn, world)
  // Those of which the archive lacks the call that started them.
  while (data.isWhole && waiting.length > 0) yield* subagentHtml(waiting.shift()!, world)
  yield html`<p class="nothing" hidden>Nothing of this session is like that.</p>
</main>
${tokenMeter(outline, context, words)}
</div>
`
}

function takeFrom(waiting: SubagentData[], brief: string): SubagentData | undefined {
  const at = waiting.findIndex((one) => one.brief === brief)
  return at < 0 ? undefined : waiting.splice(at, 1)[0]
}

function aboutSession({ session, lineage, compactions }: SessionData, words: PageWords): Content[] {
  const { tokens, cost, cwd, branch, version, started, ended, turns, shared, tools, errors } = session
  const total = allTokens(tokens)
  const facts: Content[] = [
    cwd !== null && html`<code>${cwd}</code>`,
    branch !== null && html`branch <code>${branch}</code>`,
    words.period(started, ended),
    shared === 0 ? count(turns, "turn") : `${count(turns, "turn")} (${shared} shared)`,
    count(tools, "tool call"),
    errors > 0 && html`<span class="bad">${count(errors, "error")}</span>`,
    compactions.length > 0 && count(compactions.length, "compaction"),
    lineage.subagents.length > 0 && count(lineage.subagents.length, "subagent"),
    total > 0 &&
      html`<span title="${words.tokens(tokens.input)} input, ${words.tokens(tokens.cacheCreation)} written to cache, ${words.tokens(tokens.cacheRead)} read from cache, ${words.tokens(tokens.output)} output">${words.tokens(total)} tokens</span>`,
    cost !== null && html`<span title="By Claude Code’s own account">${words.dollars(cost)}</span>`,
    version !== null && `Claude Code ${version}`,
    html`session <code>${session.id}</code>`,
    ...lineage.parents.map(
      ({ session: id, kind }) => html`${kind === "fork" ? "begins with" : "continues"} <code>${id}</code>`,
    ),
  ]
  return facts.filter(Boolean)
}

/** Words about the session that are not of it. */
function noteHtml({ title, items, by }: SessionNote): Html {
  const rows = items.map(
    ({ label, text, handle }) =>
      html`<li><strong>${label}</strong> <span>${text}${handle !== undefined && html` <a href="#${anchorOf(handle)}">${handle}</a>`}</span></li>\n`,
  )
  return html`<section class="about-session group"><h2>${title}</h2><ul class="item" data-kind="note">${rows}</ul><p class="note">${by}</p></section>\n`
}
