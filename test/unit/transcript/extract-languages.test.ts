/** Labelled sentences in four languages: how many of those found are right, and how many are found. */
import { describe, expect, test } from "bun:test"
import { constraintsIn, decisionsIn, refutedIn } from "../../../src/transcript/extract.ts"

interface Labelled {
  readonly yes: readonly string[]
  readonly no: readonly string[]
}

const CONSTRAINTS: Readonly<Record<string, Labelled>> = {
  English: {
    yes: [
      "Never commit to the main branch.",
      "Always run the formatter before you finish.",
      "Use tabs, not spaces.",
      "Please don't touch the migrations folder.",
      "From now on write the tests first.",
      "You must not add a new dependency.",
    ],
    no: [
      "Why does it always fail on Mondays?",
      "Add a button to the settings page.",
      "I never saw this error before.",
      "Don't worry about the old data.",
      "The list is empty after a reload.",
      "Can we use a map instead of a list?",
    ],
  },
  German: {
    yes: [
      "Ändere niemals die erzeugten Dateien.",
      "Bitte keine neuen Abhängigkeiten einbauen.",
      "Führe immer zuerst die Tests aus.",
      "Nimm eine Tabelle statt einer Liste.",
      "Ab jetzt antworte auf Deutsch.",
      "Du darfst nicht direkt auf die Datenbank zugreifen.",
      "Fass die Konfiguration nicht an.",
    ],
    no: [
      "Warum ist die Seite immer so langsam?",
      "Ich habe das nie gesehen, was ist es?",
      "Füge einen Knopf auf der Seite hinzu.",
      "Die Liste ist nach dem Laden leer.",
      "Wie geht das mit einer Tabelle statt einer Liste?",
      "Es ist immer noch kaputt.",
    ],
  },
  Spanish: {
    yes: [
      "Nunca subas cambios a la rama principal.",
      "Ejecuta siempre las pruebas antes de terminar.",
      "No modifiques los archivos generados.",
      "Usa una tabla en lugar de una lista.",
      "A partir de ahora escribe primero las pruebas.",
      "Evita las dependencias nuevas.",
    ],
    no: [
      "¿Por qué falla siempre los lunes?",
      "Añade un botón a la página de ajustes.",
      "La lista está vacía después de cargar.",
      "Yo nunca había visto este error.",
      "Mira el registro del servidor.",
      "¿Podemos usar un mapa en lugar de una lista?",
    ],
  },
  Chinese: {
    yes: [
      "不要修改生成的文件。",
      "提交之前必须运行测试。",
      "从现在开始先写测试。",
      "请勿添加新的依赖。",
      "用表格而不是列表。",
      "日志一律使用英文。",
    ],
    no: [
      "为什么必须等这么久？",
      "在设置页面上加一个按钮。",
      "不要紧，继续吧。",
      "加载之后列表是空的。",
      "可以不要这个按钮吗？",
      "请看一下服务器的日志。",
    ],
  },
}

const DECISIONS: Readonly<Record<string, Labelled>> = {
  English: {
    yes: [
      "I chose a queue rather than a lock because writers must not wait.",
      "Decision: the old table stays.",
      "We'll go with the second layout.",
      "The root cause is a stale cache.",
      "I decided to keep one connection since opening is slow.",
    ],
    no: [
      "I will read the file now.",
      "Should I have decided otherwise?",
      "All tests pass.",
      "The second layout is wider.",
    ],
  },
  German: {
    yes: [
      "Ich habe mich für eine Warteschlange entschieden, weil niemand warten darf.",
      "Wir haben uns gegen die zweite Tabelle entschieden.",
      "Die eigentliche Ursache ist ein veralteter Zwischenspeicher.",
      "Ich entscheide mich für den ersten Weg, da er kürzer ist.",
    ],
    no: [
      "Ich lese jetzt die Datei.",
      "Hast du dich schon entschieden?",
      "Alle Tests laufen durch.",
      "Die zweite Tabelle ist breiter.",
    ],
  },
  Spanish: {
    yes: [
      "He decidido usar una cola porque nadie debe esperar.",
      "Optamos por la segunda tabla, ya que es más corta.",
      "La causa real es una caché antigua.",
      "Elegí el primer camino porque no cambia la interfaz.",
    ],
    no: [
      "Ahora leo el archivo.",
      "¿Has decidido ya?",
      "Todas las pruebas pasan.",
      "La segunda tabla es más ancha.",
    ],
  },
  Chinese: {
    yes: [
      "我决定使用队列，因为写入不能等待。",
      "最后选择了第二种布局。",
      "根本原因是缓存过期。",
      "这里改用单个连接，因为打开很慢。",
    ],
    no: ["我现在读取文件。", "你决定了吗？", "所有测试都通过了。", "第二种布局更宽。"],
  },
}

const REFUTED: Readonly<Record<string, Labelled>> = {
  English: {
    yes: [
      "Raising the timeout did not help.",
      "I tried a second connection but the lock stayed.",
      "The patch failed because the file had moved.",
      "Clearing the cache had no effect.",
      "Polling turned out to be a dead end.",
    ],
    no: [
      "All tests pass now.",
      "Did it not work?",
      "I will try the other way.",
      "It works with two connections.",
    ],
  },
  German: {
    yes: [
      "Ein längeres Zeitlimit hat nicht geholfen.",
      "Der Versuch mit zwei Verbindungen ist gescheitert.",
      "Den Zwischenspeicher zu leeren brachte nichts.",
      "Mit Abfragen funktioniert es nicht, weil niemand antwortet.",
    ],
    no: [
      "Alle Tests laufen jetzt.",
      "Hat es nicht funktioniert?",
      "Ich nehme den anderen Weg.",
      "Mit zwei Verbindungen geht es.",
    ],
  },
  Spanish: {
    yes: [
      "Aumentar el límite no ayudó.",
      "Probé con dos conexiones, pero el bloqueo siguió.",
      "El parche falló porque el archivo ya no estaba.",
      "Vaciar la caché no sirvió de nada.",
    ],
    no: [
      "Ahora pasan todas las pruebas.",
      "¿No funcionó?",
      "Voy a tomar el otro camino.",
      "Funciona con dos conexiones.",
    ],
  },
  Chinese: {
    yes: ["增加超时时间不起作用。", "轮询的方法行不通。", "我试过两个连接，但锁还在。", "清空缓存没有效果。"],
    no: ["现在所有测试都通过了。", "是不是不起作用？", "我换另一种方法。", "用两个连接就可以。"],
  },
}

describe.each([
  ["constraints", constraintsIn, CONSTRAINTS],
  ["decisions", decisionsIn, DECISIONS],
  ["refuted ways", refutedIn, REFUTED],
] as const)("%s", (_name, find, languages) => {
  test.each(Object.entries(languages))(
    "%s: precision and recall of 0.8 at least",
    (_language, { yes, no }) => {
      const right = yes.filter((sentence) => find(sentence).length > 0)
      const wrong = no.filter((sentence) => find(sentence).length > 0)
      const missed = yes.filter((sentence) => !right.includes(sentence))
      const precision = right.length / Math.max(1, right.length + wrong.length)
      const recall = right.length / yes.length
      expect({ wrong, missed, enough: precision >= 0.8 && recall >= 0.8 }).toMatchObject({ enough: true })
    },
  )

  test("of many sentences each is judged alone", () => {
    const { yes, no } = languages["Chinese"]!
    expect(find(`${no[3]}${yes[0]}`)).toEqual([yes[0]!])
  })
})
