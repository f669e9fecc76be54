/*
 * Why a line of a file is there: shown beside it, by click or key. Without it, each line leads to its turn all the same,
 * and all turns stand beside the lines.
 */
;(() => {
  const $ = (selector) => document.querySelector(selector)

  const whys = $(".whys")
  const lines = [...document.querySelectorAll(".run i")]
  /** Number of the line that keys start from. */
  let at = -1

  const hint = $(".hint")
  const asked = hint?.textContent

  /** @param line beside which it is told why it is there; undefined: nothing is told any more */
  const choose = (line) => {
    if (!whys) return
    for (const one of document.querySelectorAll(".chosen")) one.classList.remove("chosen")
    const run = line?.closest(".run")
    const isCommon = line?.matches(".common, .common i")
    hint.textContent = !line ? asked : isCommon ? hint.dataset.common : hint.dataset.unknown
    whys.classList.toggle("told", Boolean(line))
    const why = run && !isCommon && document.getElementById(`why-${run.dataset.why}`)
    if (!why) return
    for (const one of document.querySelectorAll(`[data-why="${run.dataset.why}"]`))
      one.classList.add("chosen")
    why.classList.add("chosen")
    whys.scrollTop = 0
  }
  $(".close")?.addEventListener("click", () => choose(undefined))

  const go = (to) => {
    if (to < 0 || to >= lines.length) return
    lines[at]?.classList.remove("at")
    at = to
    lines[at].classList.add("at")
    if (whys.matches(".told")) choose(lines[at])
    lines[at].scrollIntoView({ block: "nearest" })
  }

  $(".code")?.addEventListener("click", (event) => {
    const line = event.target.closest("i")
    // Whoever marks text does not ask for anything.
    if (!line || String(getSelection()) !== "") return
    choose(line)
    go(Number(line.id) - 1)
  })

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "j") go(at + 1)
    else if (event.key === "k") go(at - 1)
    else if (event.key === "Escape") choose(undefined)
    else if (event.key === "Enter" && at >= 0 && !event.target.closest("a, button")) {
      choose(lines[at])
      go(at)
    }
  })

  /** `#12`, and as it is written elsewhere: `#L12`. */
  const follow = () => {
    const line = document.getElementById(location.hash.replace(/^#L?/, ""))
    if (!line?.matches(".run i")) return
    go(Number(line.id) - 1)
    choose(line)
    line.scrollIntoView({ block: "center" })
  }
  addEventListener("hashchange", follow)
  follow()
})()
