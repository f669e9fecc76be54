/** Words of any script are found. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"

const SAID = [
  "データベースのサーバーを再起動した。getUserNameを呼ぶ、parse_config関数も。最後は値。第3章を読む",
  "请检查锁。修复登录页面的显示问题",
  "မြန်မာနိုင်ငံတော်တွင်ဆာဗာပြန်စရန်လိုအပ်ပါသည်",
  "see org.example.warehouse.inventory.reconciliation.jobs.NightlyStockReconciler",
  "Crème brûlée",
  "the src/user-profile-card.tsx file",
]

let machine: Machine

beforeAll(async () => {
  machine = new Inside()
  const session = machine.session()
  for (const text of SAID) session.turn("Go on", [], text.normalize("NFD"))
  await machine.hook("stop", session.flush())
})

afterAll(() => machine[Symbol.dispose]())

/**
 * Words that stand in the archive were not found: Japanese ones with `ー`, names in code beside a script without spaces, a
 * single letter at the end of a run, Burmese, words in names of more than 64 characters, phrases that a text has in another
 * Unicode form.
 */
test.each([
  [1, '"データ"'],
  [1, "データ AND 再起動"],
  [1, "サーバー AND 値"],
  [1, '"getUserName"'],
  [1, "getUserName AND 呼ぶ"],
  [1, "parseConfig AND 関数"],
  [1, "値"],
  [1, '"第3章"'],
  [2, "锁"],
  [2, '"登录页面"'],
  [3, "ဆာဗာ"],
  [4, "NightlyStockReconciler AND inventory"],
  [4, '"jobs.NightlyStock"'],
  [5, '"brûlée"'],
  [6, '"user-profile"'],
])("turn %i has %s", async (seq, query) => {
  const { code, stdout, stderr } = await run(["search", "--json", query], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const { hits, note } = JSON.parse(stdout) as { hits: { seq: number; snippet: string }[]; note?: string }
  expect({ first: hits[0]!.seq, note }).toEqual({ first: seq, note: undefined })
})

test("a word with accents is found in the vault as well", async () => {
  const session = machine
    .session()
    .raw(JSON.stringify({ type: "future-record-type", payload: "naïve walrus" }))
  await machine.hook("stop", session.flush())
  const { code, stdout, stderr } = await run(
    ["search", "--json", "--all-projects", "--cold", "naïve walrus"],
    machine,
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(JSON.parse(stdout).hits).toMatchObject([{ cold: true, snippet: "naïve walrus" }])
})

test("a hit shows where a word with accents stands, far from one without", async () => {
  const filler = "Ein Satz ohne Belang steht hier im Text. ".repeat(120)
  const session = machine.session()
  session.turn("Frage", [], `Der Fehler ist alt. ${filler}Die Größe wurde geprüft. ${filler}`)
  await machine.hook("stop", session.flush())
  const { code, stdout, stderr } = await run(["search", "--json", "Fehler Größe geprüft"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const [{ snippet, marks }] = JSON.parse(stdout).hits
  const marked = marks.map(([from, to]: [number, number]) => snippet.slice(from, to))
  expect(marked).toEqual(["Größe", "geprüft"])
})

/** One character of a script without spaces was found nowhere; of notes it was said that Claude Code keeps them. */
test("one character of Chinese, Korean or Thai is a word", async () => {
  using machine = new Inside()
  await machine.hook("stop", machine.session().turn("缓存出错了。 캐시 오류. แคช 𠮷野").flush())
  for (const query of ["错", "오", "แ", "𠮷"]) {
    const ran = await run(["search", "--json", query], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(ran.stdout).hits).toHaveLength(1)
  }
  expect(await run(["search", "界"], machine)).toMatchObject({ code: 3, stdout: "" })
})
