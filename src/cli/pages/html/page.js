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
    mark(words)
  }

  /** How many places are coloured: each costs time whenever the page is drawn. */
  const MOST = 2000

  /** @returns the places */
  function mark(words, within = hits) {
    if (!("highlights" in CSS)) return []
    CSS.highlights.delete("found")
    if (words.length === 0) return []
    const ranges = []
    for (const item of within) {
      const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node && ranges.length < MOST; node = walker.nextNode()) {
        const text = node.data.toLowerCase()
        // Another length in lower case, as of İ: the places would be wrong.
        if (text.length !== node.length) continue
        for (const word of words) {
          for (
            let from = text.indexOf(word);
            from >= 0 && ranges.length < MOST;
            from = text.indexOf(word, from + word.length)
          ) {
            const range = new Range()
            range.setStart(node, from)
            range.setEnd(node, from + word.length)
            ranges.push(range)
          }
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges))
    return ranges
  }

  /** Unfolds whatever an element lies in. */
  function reveal(element) {
    for (let one = element; one; one = one.parentElement) if (one.localName === "details") one.open = true
  }

  function go(step) {
    if (hits.length === 0) return
    at = (at + step + hits.length) % hits.length
    reveal(hits[at])
    hits[at].scrollIntoView({ block: "center" })
    found.textContent = `${at + 1} of ${hits.length}`
  }

  let timer
  const whole = isList ? new EventTarget() : search
  whole.addEventListener("input", () => {
    clearTimeout(timer)
    timer = setTimeout(apply, 120)
  })
  whole.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return
    event.preventDefault()
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
    if (wanted.length === 0) return
    const [first] = mark(wanted, [turn])
    wanted = []
    const item = first?.startContainer.parentElement
    if (!item) return
    reveal(item)
    item.scrollIntoView({ block: "center" })
  }
  addEventListener("hashchange", follow)
  follow()

  const links = new Map()
  for (const link of all(".contents a, .meter a")) {
    const id = link.getAttribute("href").slice(1)
    links.set(id, [...(links.get(id) ?? []), link])
  }
  let current = []
  const watcher = new IntersectionObserver(seen, { rootMargin: "-15% 0px -75% 0px" })
  function seen(entries) {
    const turn = entries.find(({ isIntersecting, target }) => isIntersecting && links.has(target.id))?.target
    if (!turn) return
    for (const link of current) link.removeAttribute("aria-current")
    current = links.get(turn.id)
    for (const link of current) link.setAttribute("aria-current", "true")
    const [entry] = current
    const list = entry.closest(".contents")
    if (list && list.scrollHeight > list.clientHeight)
      list.scrollTop = entry.offsetTop - list.clientHeight / 2
  }
  for (const turn of all("main > .turn")) watcher.observe(turn)
})()
