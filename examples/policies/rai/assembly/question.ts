// Written by svc for the question rai.review. Changes are lost: svc plugin build writes it again.
import { Host } from "@extism/as-pdk"
import { Box, Json, Writer } from "./json"

/** The responsible-AI pass looks at everything that would be merged. */
export function ask(): RaiReviewAsk {
  return RaiReviewAsk.from(Json.parse(Host.inputString()))
}

export function answer(given: RaiReviewAnswer): i32 {
  const out = new Writer()
  given.write(out)
  return reply(out.text())
}

/** The next policy is asked, and in the end the service itself. */
export function noOpinion(): i32 {
  return reply("null")
}

function reply(text: string): i32 {
  // outputString counts characters where bytes are meant
  Host.output(Uint8Array.wrap(String.UTF8.encode(text)))
  return 0
}

export class RaiReviewAsk {
  /** The run that the question is about. */
  runId: string = ""
  workPlanId: Box<i64> | null = null
  /** Git tree that the question is about; null where there is none yet. */
  treeHash: string | null = null
  files: ChangedFile[] = []
  /** Unified diff of everything that would be merged. */
  diff: string = ""
  /** What the reviewer answered so far, oldest first: none before it was asked, two after it was asked again. */
  replies: string[] = []

  static from(json: Json): RaiReviewAsk {
    const made = new RaiReviewAsk()
    made.runId = json.member("runId").text
    if (!json.member("workPlanId").isNothing) {
      made.workPlanId = new Box<i64>(i64(json.member("workPlanId").number))
    }
    if (!json.member("treeHash").isNothing) {
      made.treeHash = json.member("treeHash").text
    }
    {
      const listed: ChangedFile[] = []
      for (let at = 0; at < json.member("files").items.length; at++) listed.push(ChangedFile.from(json.member("files").items[at]))
      made.files = listed
    }
    made.diff = json.member("diff").text
    {
      const listed: string[] = []
      for (let at = 0; at < json.member("replies").items.length; at++) listed.push(json.member("replies").items[at].text)
      made.replies = listed
    }
    return made
  }
}

export class ChangedFile {
  /** From the top of the repository, with slashes. */
  path: string = ""
  /** One of: added, modified, deleted. */
  status: string = ""
  addedLines: i64 = 0
  removedLines: i64 = 0

  static from(json: Json): ChangedFile {
    const made = new ChangedFile()
    made.path = json.member("path").text
    made.status = json.member("status").text
    made.addedLines = i64(json.member("addedLines").number)
    made.removedLines = i64(json.member("removedLines").number)
    return made
  }
}

export class RaiReviewAnswer {
  /** `ask_reviewer`: the reviewer has to be asked (again) before anything can be said. One of: green, yellow, revise, red, ask_reviewer. */
  verdict: string = ""
  rationale: string = ""
  /** One of: unparseable_after_reask, policy_unavailable. */
  reason: string | null = null

  write(out: Writer): void {
    out.open("{")
    out.name("verdict")
    out.string(this.verdict)
    out.name("rationale")
    out.string(this.rationale)
    const reasonGiven = this.reason
    if (reasonGiven !== null) {
      out.name("reason")
      out.string(reasonGiven)
    }
    out.close("}")
  }
}
