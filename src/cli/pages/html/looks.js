/* What the script of every page does first: it says that there is one, and lets readers choose between dark and light. */
;(() => {
  const root = document.documentElement
  root.classList.add("js")

  /** For what a browser may refuse: a page from a file may have no storage. */
  const attempt = (act) => {
    try {
      return act()
    } catch {
      return null
    }
  }
  const theme = attempt(() => localStorage.getItem("ctxbridge-theme"))
  if (theme === "dark" || theme === "light") root.dataset.theme = theme
  document.querySelector("#theme").addEventListener("click", () => {
    const isDark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches
    root.dataset.theme = isDark ? "light" : "dark"
    attempt(() => localStorage.setItem("ctxbridge-theme", root.dataset.theme))
  })
})()
