/*
 * The page of sessions: searches all that was said in them, filters them, and is worked with keys. build/bundles.ts makes
 * one script of it and of what it shares with those who write the index. What comes from the archive becomes text, never
 * HTML.
 */
import {
  addTurnsWith,
  askedOf,
  bestText,
  LOADER,
  SEGMENTS,
  shardsOf,
  spellingsOf,
  turnsWithAll,
} from "../search-format.ts"

const $ = (selector) => document.querySelector(selector)
const all = (selector, within = document) => [...within.querySelectorAll(selector)]

/* The index: files beside this page, each asked for once. */

const waiting = new Map()
Object.defineProperty(window, LOADER, { value: (name, list) => waiting.get(name)?.resolve(list) })

/** Files that are kept in memory, the latest asked for last. */
const KEPT = 160
const loaded = new Map()

function load(name) {
  const known = loaded.get(name)
  if (known) {
    loaded.delete(name)
    loaded.set(name, known)
    return known
  }
  const answer = Promise.withResolvers()
  waiting.set(name, answer)
  const script = document.createElement("script")
  script.src = `search/${encodeURIComponent(name)}.js`
  script.onload = () => answer.reject(new Error(`${name} is not of the index`))
  script.onerror = script.onload
  document.head.append(script)
  const end = () => {
    waiting.delete(name)
    script.remove()
  }
  answer.promise.then(end, () => {
    loaded.delete(name)
    end()
  })
  loaded.set(name, answer.promise)
  if (loaded.size > KEPT) loaded.delete(loaded.keys().next().value)
  return answer.promise
}

/* The sessions of this page. */

const rows = all(".session").map((element, n) => ({
  element,
  n,
  name: element.getAttribute("href").replace(/\.html$/, ""),
  title: element.querySelector("b").textContent,
  words: element.textContent.toLowerCase(),
  isShown: true,
  ...element.dataset,
}))
const rowOf = new Map(rows.map((row) => [decodeURIComponent(row.name), row]))

const search = $("#search")
const counted = $("#counted")
const list = $("#list")
const results = $("#results")
const nothing = $(".nothing")
const choices = all("select[data-choice]")
const errors = $("#errors")
const clear = $("#clear")

function filter() {
  for (const row of rows) {
    row.isShown =
      choices.every(({ value, dataset }) => value === "" || row[dataset.choice] === value) &&
      (errors?.ariaPressed !== "true" || row.errors !== "0")
    row.element.classList.toggle("off", !row.isShown)
  }
  for (const day of all(".day")) {
    const shown = rows.filter(({ isShown, element }) => isShown && day.contains(element))
    day.classList.toggle("off", shown.length === 0)
    day.querySelector(".sum").textContent = sumOf(shown)
  }
  drawTimeline()
  // Those of all sessions.
  document.getElementById("files")?.classList.toggle("off", isFiltered())
  clear.hidden = !isFiltered()
  for (const select of choices) select.classList.toggle("chosen", select.value !== "")
}

const isFiltered = () => choices.some(({ value }) => value !== "") || errors?.ariaPressed === "true"

const number = (of, name) => of.reduce((sum, row) => sum + Number(row[name]), 0)
const plural = (n, one) => `${n.toLocaleString("en-US")} ${one}${n === 1 ? "" : "s"}`
const tokens = (n) => (n < 1000 ? `${n}` : n < 1e6 ? `${(n / 1e3).toFixed(1)}K` : `${(n / 1e6).toFixed(2)}M`)
const dollars = (n) =>
  n === 0 ? "" : n < 0.01 ? "<$0.01" : n.toLocaleString("en-US", { style: "currency", currency: "USD" })

const sumOf = (shown) =>
  [
    plural(shown.length, "session"),
    number(shown, "tokens") > 0 && `${tokens(number(shown, "tokens"))} tokens`,
    dollars(number(shown, "cost")),
  ]
    .filter(Boolean)
    .join(" · ")

/* The timeline: as high as the day has turns, tokens or cost, of what is shown. */

const HEIGHT = 80
const measures = all("[data-measure]")
const figures = {
  turns: (n) => plural(n, "turn"),
  tokens: (n) => `${tokens(n)} tokens`,
  cost: (n) => dollars(n) || "no cost known",
}

function drawTimeline() {
  const measure = measures.find(({ ariaPressed }) => ariaPressed === "true")?.dataset.measure ?? "turns"
  const days = all(".timeline a").map((link) => {
    const date = link.getAttribute("href").slice("#day-".length)
    // Some may be above the days: pinned.
    const shown = rows.filter(({ isShown, day }) => isShown && day === date)
    return { link, date, shown, amount: number(shown, measure) }
  })
  const most = Math.max(0, ...days.map(({ amount }) => amount))
  for (const { link, date, shown, amount } of days) {
    const height = amount === 0 ? 0 : Math.max(3, (amount / most) * HEIGHT)
    const bar = link.querySelector(".bar")
    bar.setAttribute("height", height.toFixed(1))
    bar.setAttribute("y", (HEIGHT - height).toFixed(1))
    link.querySelector("title").textContent =
      `${date}: ${plural(shown.length, "session")}, ${figures[measure](amount)}`
  }
}

/* Searching. */

/** Hits whose texts are looked at before they are put into their last order, and hits that are shown at a time. */
const LOOKED_AT = 24
const PAGE = 20
/** Turns whose texts are looked at for a phrase. */
const MOST_READ = 400

let asking = 0
let state

/** Which turns have all words: by their texts' file and their place in it, the best first. */
async function matches(asked) {
  const segments = await load(SEGMENTS)
  const catalogues = await Promise.all(segments.map((segment) => load(`c-${segment}`)))
  const newer = new Set()
  const hits = []
  for (const [n, segment] of segments.entries()) {
    const [files, lengths, first] = catalogues[n]
    const each = await Promise.all(
      spellingsOf(asked).map(async (spellings) => {
        const turns = new Map()
        for (const spelling of spellings) {
          const shards = shardsOf(first, spelling).map((shard) => load(`t-${segment}-${shard}`))
          addTurnsWith(turns, await Promise.all(shards), spelling)
        }
        return turns
      }),
    )
    const places = []
    for (let at = 0; at < files.length; at += 2) {
      const row = newer.has(files[at]) ? undefined : rowOf.get(files[at])
      for (let turn = 0; turn < files[at + 1]; turn++) places.push(row && [row, turn])
    }
    for (let at = 0; at < files.length; at += 2) newer.add(files[at])
    for (const { turn, score } of turnsWithAll(each, lengths, places.length)) {
      const place = places[turn]
      // Of two that say the same, the later one.
      if (place)
        hits.push({ row: place[0], turn: place[1], score: score * (1.1 - (0.1 * place[0].n) / rows.length) })
    }
  }
  return hits.sort((a, b) => b.score - a.score)
}

async function readHit(hit, asked) {
  const texts = (await load(`d-${decodeURIComponent(hit.row.name)}`))[hit.turn]
  const best = texts && bestText(texts, asked)
  return (
    best && {
      ...hit,
      handle: texts[0],
      seq: texts[1],
      time: texts[2],
      best,
      worth: hit.score * (0.4 + best.closeness),
    }
  )
}

async function ask() {
  const mine = ++asking
  const text = search.value
  const asked = askedOf(text)
  remember(text)
  if (asked.words.length === 0 && asked.prefix === "") {
    state = undefined
    show()
    return
  }
  try {
    const hits = await matches(asked)
    if (mine !== asking) return
    const next = { text, asked, hits, read: [], at: 0, shown: PAGE, isExact: asked.phrases.length === 0 }
    state = next
    await readMore(next)
    if (mine === asking) show()
  } catch (error) {
    // It may have been written anew meanwhile.
    loaded.clear()
    if (mine === asking) show(error)
  }
}

/** Reads what is shown next, the filters considered. */
async function readMore(of) {
  const wanted = of.hits.filter(({ row }) => row.isShown)
  let read = 0
  while (of.at < wanted.length && of.read.length < of.shown && read < MOST_READ) {
    const some = wanted.slice(of.at, of.at + LOOKED_AT)
    of.at += LOOKED_AT
    read += LOOKED_AT
    const hits = (await Promise.all(some.map((hit) => readHit(hit, of.asked)))).filter(Boolean)
    of.read.push(...hits.sort((a, b) => b.worth - a.worth))
  }
  of.total = wanted.length
  of.sessions = new Set(wanted.map(({ row }) => row)).size
  of.isWhole = of.at >= wanted.length
}

const make = (name, className, ...content) => {
  const element = document.createElement(name)
  if (className) element.className = className
  element.append(...content.filter((one) => one !== undefined && one !== ""))
  return element
}

function show(error) {
  const isSearching = state !== undefined || error !== undefined
  list.hidden = isSearching
  results.hidden = !isSearching
  const shown = rows.filter(({ isShown }) => isShown)
  if (!isSearching) {
    counted.textContent = isFiltered() ? sumOf(shown) : ""
    nothing.hidden = shown.length > 0
    nothing.textContent = "No session matches."
    results.replaceChildren()
    return
  }
  if (error !== undefined) {
    results.replaceChildren()
    counted.textContent = ""
    nothing.hidden = false
    nothing.textContent =
      "The index of this page cannot be read. Reload the page; if that does not help, run ctxbridge open again."
    return
  }
  const { asked, read, total, sessions, isExact, isWhole, shown: most } = state
  const words = state.text.trim().toLowerCase().replaceAll('"', "").split(/\s+/).filter(Boolean)
  // A title may say what no turn says.
  const told = new Set(read.map(({ row }) => row))
  const titled = shown
    .filter((row) => !told.has(row) && words.every((word) => row.title.toLowerCase().includes(word)))
    .slice(0, 3)
  const isEmpty = read.length === 0 && titled.length === 0
  // Of a phrase, only the turns that were read are known to have it.
  const number = isExact ? total : read.length
  counted.textContent = isEmpty
    ? ""
    : `${plural(number, "turn")}${isExact || isWhole ? "" : " or more"}${isExact ? ` in ${plural(sessions, "session")}` : ""}`
  nothing.hidden = !isEmpty
  nothing.textContent = `Nothing says “${state.text.trim()}”. ${isFiltered() ? "Fewer filters or words may find more." : "Fewer or other words may find more."}`
  results.replaceChildren(
    ...titled.map(titleResult),
    ...read.slice(0, most).map((hit) => turnResult(hit, asked)),
    ...(read.length > most || !isWhole ? [moreButton()] : []),
  )
}

const ofKind = (kind, className, ...content) => {
  const element = make("span", className, ...content)
  element.dataset.kind = kind
  return element
}
const about = (...facts) =>
  make("span", "facts", ...facts.filter(Boolean).map((fact) => make("span", "", fact)))

function titleResult({ element, title, project, day }) {
  const link = make(
    "a",
    "result",
    ofKind("session", "kind", "session"),
    make("b", "", title),
    about(project, day),
  )
  link.href = element.getAttribute("href")
  return make("li", "", link)
}

function turnResult({ row, handle, seq, time, best }) {
  const said = ofKind(best.kind, "said")
  let at = 0
  for (const [from, to] of best.marks) {
    said.append(best.text.slice(at, from), make("mark", "", best.text.slice(from, to)))
    at = to
  }
  said.append(best.text.slice(at))
  const link = make(
    "a",
    "result",
    ofKind(best.kind, "kind", best.kind),
    make("b", "", row.title),
    about(row.project, dayOf(time) ?? row.day, `turn ${seq}`),
    said,
  )
  const words = [...new Set(best.marks.map(([from, to]) => best.text.slice(from, to).toLowerCase()))]
  link.href = `${row.element.getAttribute("href")}#${handle.replace(":", "-")}&mark=${encodeURIComponent(words.join(" "))}`
  return make("li", "", link)
}

function dayOf(time) {
  const date = new Date(time ?? "")
  if (Number.isNaN(date.getTime())) return undefined
  const two = (n) => String(n).padStart(2, "0")
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

function moreButton() {
  const button = make("button", "more", "More")
  button.type = "button"
  button.addEventListener("click", async () => {
    const at = all(".result", results).length
    state.shown += PAGE
    if (state.read.length < state.shown && !state.isWhole) await readMore(state)
    show()
    all(".result", results)[at]?.focus()
  })
  return make("li", "", button)
}

/* What is looked for is in the address, so that coming back finds it again. */

const attempt = (act) => {
  try {
    return act()
  } catch {
    return undefined
  }
}

function remember(text) {
  const values = new URLSearchParams()
  if (text !== "") values.set("q", text)
  for (const { value, dataset } of choices) if (value !== "") values.set(dataset.choice, value)
  if (errors?.ariaPressed === "true") values.set("errors", "1")
  attempt(() => history.replaceState(null, "", `#${values}`))
}

function recall() {
  if (!location.hash.includes("=")) return
  const values = new URLSearchParams(location.hash.slice(1))
  search.value = values.get("q") ?? ""
  for (const select of choices) {
    const value = values.get(select.dataset.choice)
    if ([...select.options].some((option) => option.value === value)) select.value = value
  }
  if (errors) errors.ariaPressed = String(values.has("errors"))
}

async function refilter() {
  filter()
  if (state === undefined) {
    remember(search.value)
    show()
    return
  }
  await ask()
}

// Who goes to the search is going to need them.
search.addEventListener("focus", () => {
  load(SEGMENTS)
    .then((segments) => Promise.all(segments.map((segment) => load(`c-${segment}`))))
    .catch(() => {})
})

let timer
search.addEventListener("input", () => {
  clearTimeout(timer)
  timer = setTimeout(ask, 60)
})
for (const select of choices) select.addEventListener("change", refilter)
errors?.addEventListener("click", () => {
  errors.ariaPressed = String(errors.ariaPressed !== "true")
  refilter()
})
clear.addEventListener("click", () => {
  for (const select of choices) select.value = ""
  if (errors) errors.ariaPressed = "false"
  refilter()
})
for (const button of measures) {
  button.addEventListener("click", () => {
    for (const one of measures) one.ariaPressed = String(one === button)
    drawTimeline()
  })
}

/* Keys. */

function move(step) {
  const links = all(results.hidden ? ".session:not(.off)" : ".result, .more")
  if (links.length === 0) return
  const at = links.indexOf(document.activeElement)
  const next =
    links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.max(0, Math.min(links.length - 1, at + step))]
  next.focus({ preventScroll: true })
  next.scrollIntoView({ block: "nearest" })
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const active = document.activeElement
  const isTyping = active === search
  if (active?.localName === "select") return
  const isDown = event.key === "ArrowDown" || (!isTyping && event.key === "j")
  const isUp = !isTyping && (event.key === "ArrowUp" || event.key === "k")
  if (event.key === "Enter" && isTyping) move(1)
  else if (isDown || isUp) move(isDown ? 1 : -1)
  else if (event.key === "/" && !isTyping) search.select()
  else if (event.key === "Escape") {
    if (search.value !== "") {
      search.value = ""
      ask()
    } else if (isFiltered()) clear.click()
    active?.blur()
    return
  } else return
  event.preventDefault()
})

recall()
filter()
show()
if (search.value !== "") ask()
