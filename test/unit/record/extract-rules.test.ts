/** Rules, decisions and failed approaches, as people word them. */
import { describe, expect, test } from "bun:test"
import { constraintsIn, decisionsIn, refutedIn } from "../../../src/record/noted-sentences.ts"

/**
 * Plain rules, decisions and failed approaches were passed over: "No emojis.", "Answer in German.", "dont use semicolons",
 * "请用中文回答。" Besides, an error that the user pasted and a reproach counted as rules.
 */
describe("rules", () => {
  test.each([
    "Error handling: never swallow one.",
    "Exception: in tests, always use the real loom.",
    "No emojis.",
    "Remember never to force the loom, ok?",
    "No comments in the code, please.",
    "Answer in German.",
    "Instead of axios use fetch.",
    "Stay inside the loom folder.",
    "Do it without adding dependencies.",
    "Under no circumstances delete the pattern.",
    "Never, ever commit the key.",
    "dont use semicolons",
    "Ask me before you install anything.",
    "Hands off the config.",
    "Use 2 spaces for indentation.",
    "Kein Force-Push.",
    "Keine Kommentare im Code.",
    "Commits bitte auf Englisch.",
    "Frag mich, bevor du etwas löschst.",
    "Responde siempre en español.",
    "Nada de emojis.",
    "Evita usar any.",
    "请用中文回答。",
    "只修改loom目录下的文件。",
    "你不能修改数据库。",
    "代码里不要写注释。",
    "统一使用TypeScript。",
    "每次提交前都要跑测试。",
    "不允许使用sudo。",
    "避免使用全局变量。",
  ])("%s", (sentence) => expect(constraintsIn(sentence)).toEqual([sentence]))

  test.each([
    "You never told me.",
    "You never told me, ok?",
    "TypeError: the shuttle must not be null",
    "error TS2322: the thread must not be a number",
    "No new errors.",
    "No more errors now, great.",
    "No comments so far.",
    "No mocks were found in the folder.",
    "Use tabs on the settings page.",
    "Write the letter in German.",
    "Tell me before lunch what came of it.",
    "dont worry about it",
    "I dont know why it stops.",
    "Keine neuen Fehler.",
    "Keine Kommentare gefunden.",
    "Nada de lo que hice ayuda.",
    "Nada de eso.",
    "只改了一行。",
    "每次运行都要等很久。",
    "避免了冲突。",
    "不能修改密码，页面报错。",
  ])("not: %s", (sentence) => expect(constraintsIn(sentence)).toEqual([]))
})

describe("decisions", () => {
  test.each([
    "I'll use SQLite because it needs no server.",
    "I switched to fetch because the old client broke.",
    "Let's go with the second loom.",
    "Why I chose the second loom: it is nearer.",
    "Vamos a usar Redis porque es más rápido.",
  ])("%s", (sentence) => expect(decisionsIn(sentence)).toEqual([sentence]))

  test.each([
    "I'll use the loom.",
    "Why I chose the second loom",
    "Should we go with the second loom, because it is nearer?",
    "The bug was caused by a race in the cache.",
    "If the bug was caused by a race, we will see it.",
    "Voy a usar la tabla.",
    "问题的原因是缓存没有刷新。",
    "问题的原因还不清楚。",
  ])("not: %s", (sentence) => expect(decisionsIn(sentence)).toEqual([]))
})

describe("failed approaches", () => {
  test.each([
    "Disabling the cache made no difference.",
    "The retry approach failed.",
    "Restarting the server did not fix it.",
    "Increasing the memory doesn't solve the problem.",
    "That change broke the build, so I reverted it.",
  ])("%s", (sentence) => expect(refutedIn(sentence)).toEqual([sentence]))

  test.each([
    "If the approach failed, we would see it.",
    "The request failed.",
    "It broke the thread and I tied it.",
  ])("not: %s", (sentence) => expect(refutedIn(sentence)).toEqual([]))
})
