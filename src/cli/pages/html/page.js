/*
 * Search, filters, links and themes of a page. Without it the page can be read and unfolded all the same. It reads the
 * page's text and never makes HTML of it.
 */
;(() => {
  const $ = (selector) => document.querySelector(selector)
  const all = (selector, within = document) => [...within.querySelectorAll(selector)]
  const root = document.documentElement

  const search = $("#search")
  const found = $("#found")
  const nothing = all(".nothing")
  const filters = all("[data-filter]")

  /** The page's items with their texts, read when first searched. */
  let items
  const read = () => {
    // A result's picture is shown with its call.
    items ??= all(".item:not(.item *)").map((element) => ({
      element,
      kinds: element.dataset.kind.split(" "),
      text: element.textContent.toLowerCase(),
    }))
    return items
  }

  let hits = []
  /** Where Enter goes, one after the other: the words that are marked or, without words, the hits. */
  let places = []
  let at = -1

  /** The page of sessions has a search of its own. */
  const isList = $("#results") !== null

  function apply() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const kinds = filters
      .filter((button) => button.ariaPressed === "true")
      .map((button) => button.dataset.filter)
    const isFiltered = words.length > 0 || kinds.length > 0
    hits = []
    at = -1
    for (const { element, kinds: own, text } of read()) {
      const isHit =
        (kinds.length === 0 || own.some((kind) => kinds.includes(kind))) &&
        words.every((word) => text.includes(word))
      element.classList.toggle("off", !isHit)
      if (isHit) hits.push(element)
    }
    for (const group of all(".group, .agent"))
      group.classList.toggle("off", isFiltered && !group.querySelector(".item:not(.off)"))
    for (const agent of all(".agent")) if (isFiltered && words.length > 0) agent.open = !agent.matches(".off")
    found.textContent = isFiltered ? `${hits.length} of ${items.length}` : ""
    for (const one of nothing) one.hidden = !isFiltered || hits.length > 0
    const marked = mark(words)
    places = isFiltered ? hits.flatMap((hit) => placesIn(hit, marked.get(hit) ?? [])) : []
    if (words.length === 0) return
    const isMore = [...marked.values()].flat().length >= MOST
    found.textContent = `${places.length}${isMore ? " or more" : ""} ${places.length === 1 ? "match" : "matches"}`
  }

  /** A call's line repeats what is written whole below it. A hit whose words lie across its elements has no mark. */
  function placesIn(hit, ranges) {
    const below = ranges.filter((range) => !range.startContainer.parentElement.closest("summary"))
    if (below.length > 0) return below
    return ranges.length > 0 ? ranges : [hit]
  }

  /** How many places are coloured: each costs time whenever the page is drawn. */
  const MOST = 2000

  /** Colours the words; by element, the places in their order. */
  function mark(words, within = hits) {
    const marked = new Map()
    let number = 0
    for (const item of words.length > 0 ? within : []) {
      const ranges = []
      const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node && number < MOST; node = walker.nextNode()) {
        const some = rangesIn(node, words).slice(0, MOST - number)
        number += some.length
        ranges.push(...some)
      }
      marked.set(item, ranges)
    }
    colour("found", [...marked.values()].flat())
    colour("here", [])
    return marked
  }

  function colour(name, ranges) {
    if (!("highlights" in CSS)) return
    CSS.highlights.delete(name)
    if (ranges.length > 0) CSS.highlights.set(name, new Highlight(...ranges))
  }

  function rangesIn(node, words) {
    const text = node.data.toLowerCase()
    // Another length in lower case, as of İ: the places would be wrong.
    if (text.length !== node.length) return []
    const spans = []
    for (const word of words)
      for (let from = text.indexOf(word); from >= 0; from = text.indexOf(word, from + word.length))
        spans.push([from, from + word.length])
    spans.sort((one, other) => one[0] - other[0] || other[1] - one[1])
    let end = 0
    return spans.flatMap(([from, to]) => {
      if (from < end) return []
      end = to
      const range = new Range()
      range.setStart(node, from)
      range.setEnd(node, to)
      return range
    })
  }

  /** Unfolds whatever an element lies in. */
  function reveal(element) {
    for (let one = element; one; one = one.parentElement) if (one.localName === "details") one.open = true
  }

  /** Unfolds and shows a word or an element, in the middle of the window. */
  function bring(place) {
    const isWord = place instanceof Range
    const element = isWord ? place.startContainer.parentElement : place
    reveal(element)
    colour("here", isWord ? [place] : [])
    const turn = element.closest("main > .turn")
    if (turn) hold(turn)
    if (!isWord) {
      element.scrollIntoView({ block: "center" })
      return
    }
    const wide = element.closest("pre, .wide")
    if (wide && wide.scrollWidth > wide.clientWidth)
      wide.scrollLeft += place.getBoundingClientRect().left - wide.getBoundingClientRect().left - 80
    centre(place, 6)
  }

  /** What comes into view is only then as high as it is, so it takes some looks. */
  function centre(place, looks) {
    const { top, height } = place.getBoundingClientRect()
    const off = top + height / 2 - innerHeight / 2
    if (Math.abs(off) > 1) scrollBy({ top: off, behavior: "instant" })
    if (looks > 0) requestAnimationFrame(() => centre(place, looks - 1))
  }

  function go(step) {
    if (places.length === 0) return
    at = at < 0 && step < 0 ? places.length - 1 : (at + step + places.length) % places.length
    bring(places[at])
    found.textContent = `${at + 1} of ${places.length}`
  }

  let timer
  const whole = isList ? new EventTarget() : search
  const applyNow = () => {
    clearTimeout(timer)
    timer = undefined
    apply()
  }
  whole.addEventListener("input", () => {
    clearTimeout(timer)
    timer = setTimeout(applyNow, 120)
  })
  whole.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return
    event.preventDefault()
    if (timer !== undefined) applyNow()
    go(event.shiftKey ? -1 : 1)
  })
  for (const button of filters) {
    button.addEventListener("click", () => {
      button.ariaPressed = String(button.ariaPressed !== "true")
      apply()
    })
  }
  document.addEventListener("keydown", (event) => {
    const isTyping = document.activeElement === search
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
      event.preventDefault()
      search.focus()
    } else if (
      !isList &&
      !isTyping &&
      /^[jk]$/.test(event.key) &&
      !event.ctrlKey &&
      !event.metaKey &&
      !event.altKey
    ) {
      step(event.key === "j" ? 1 : -1)
    } else if (event.key === "Escape" && !isList && (isTyping || search.value !== "")) {
      search.value = ""
      search.blur()
      apply()
    }
  })

  /** To the turn after or before the one at the top of the window. */
  function step(by) {
    const turns = all("main > .turn:not(.off)")
    const top = parseFloat(getComputedStyle(root).scrollPaddingTop) || 0
    const tops = turns.map((turn) => turn.getBoundingClientRect().top - top)
    const to = by > 0 ? tops.findIndex((at) => at > 8) : tops.findLastIndex((at) => at < -8)
    turns[to]?.scrollIntoView()
  }

  const unfold = $("#unfold")
  unfold?.addEventListener("click", () => {
    const isOpen = unfold.ariaPressed !== "true"
    unfold.ariaPressed = String(isOpen)
    for (const one of all("details:not(.off)")) one.open = isOpen
  })

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".copy")
    if (!button) return
    const address = `${location.href.split("#")[0]}#${button.closest(".turn").id}`
    const name = button.textContent
    const tell = (words) => {
      button.textContent = words
      setTimeout(() => {
        button.textContent = name
      }, 1200)
    }
    // Where the clipboard may not be written to, the address bar has it.
    const show = () => {
      location.hash = button.closest(".turn").id
      tell("in the address bar")
    }
    if (navigator.clipboard) navigator.clipboard.writeText(address).then(() => tell("copied"), show)
    else show()
  })

  /** Words that a search has found in the turn of the address: `#ctx-ab12cd&mark=rate%20limit`. */
  let wanted = []

  /** Null if nobody has written it so. */
  const decoded = (text) => {
    try {
      return decodeURIComponent(text)
    } catch {
      return null
    }
  }

  /** A handle may be in the address as it is written elsewhere: `#ctx:ab12cd`. */
  function follow() {
    const [place, words] = location.hash.slice(1).split("&mark=")
    const id = decoded(place)?.replace(":", "-")
    const turn = id && document.getElementById(id)
    if (!turn) return
    if (words) wanted = decoded(words)?.split(" ").filter(Boolean) ?? []
    // Only what is the whole address is a target. This is called again then.
    if (location.hash.slice(1) !== id) {
      location.replace(`#${id}`)
      return
    }
    reveal(turn)
    turn.scrollIntoView()
    hold(turn)
    if (wanted.length === 0) return
    const best = bestPlace(turn, wanted)
    wanted = []
    if (best) bring(best)
  }

  /** Of the items that have the most of the words, the first; there, a word that stands for itself before part of one. */
  function bestPlace(turn, words) {
    let best
    for (const [item, ranges] of mark(words, all(".item:not(.item *)", turn))) {
      const worth = new Set(ranges.map((range) => range.toString().toLowerCase())).size
      if (worth > (best?.worth ?? 0)) best = { worth, places: placesIn(item, ranges) }
    }
    const isAlone = ({ startContainer: { data }, startOffset, endOffset }) =>
      !/[\p{L}\p{N}]/u.test(data.slice(startOffset - 1, startOffset) + data.slice(endOffset, endOffset + 1))
    return best?.places.find(isAlone) ?? best?.places[0]
  }
  /* The turn that is read, in the contents and the meter. */

  const links = new Map()
  for (const link of all(".contents a, .meter a")) {
    const id = link.getAttribute("href").slice(1)
    links.set(id, [...(links.get(id) ?? []), link])
  }
  let current = []
  /** What was gone to, until the reader moves on: it may be too low on the page to come to the top. */
  let held

  function hold(turn) {
    held = turn
    showCurrent()
  }

  function showCurrent() {
    const line = (parseFloat(getComputedStyle(root).scrollPaddingTop) || 0) + 24
    const turns = all("main > .turn:not(.off)")
    const turn = held ?? turns.findLast((one) => one.getBoundingClientRect().top <= line) ?? turns[0]
    const next = links.get(turn?.id) ?? []
    if (next[0] === current[0]) return
    for (const link of current) link.removeAttribute("aria-current")
    current = next
    for (const link of current) link.setAttribute("aria-current", "true")
    const list = current[0]?.closest(".contents")
    if (list && list.scrollHeight > list.clientHeight)
      list.scrollTop = current[0].offsetTop - list.clientHeight / 2
  }

  for (const sign of ["wheel", "touchmove", "pointerdown", "keydown"])
    addEventListener(sign, () => (held = undefined), { capture: true, passive: true })
  let isAsked = false
  const askCurrent = () => {
    if (isAsked) return
    isAsked = true
    requestAnimationFrame(() => {
      isAsked = false
      showCurrent()
    })
  }
  if (links.size > 0) {
    addEventListener("scroll", askCurrent, { passive: true })
    addEventListener("resize", askCurrent)
    showCurrent()
  }

  addEventListener("hashchange", follow)
  follow()
})()
