// Written by svc for the question tool.call. Changes are lost: svc plugin build writes it again.
import { Host } from "@extism/as-pdk"
import { Box, Json, Writer } from "./json"

/** An agent is about to call a tool. */
export function ask(): ToolCallAsk {
  return ToolCallAsk.from(Json.parse(Host.inputString()))
}

export function answer(given: GuardAnswer): i32 {
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

export class ToolCallAsk {
  /** The run by whose rights the call is judged: the caller, or a run above it. */
  runId: string = ""
  /** The run that makes the call. */
  calledBy: string = ""
  /** The agent of `runId`. */
  agentName: string = ""
  callId: string = ""
  toolName: string = ""
  arguments: Json = Json.absent

  static from(json: Json): ToolCallAsk {
    const made = new ToolCallAsk()
    made.runId = json.member("runId").text
    made.calledBy = json.member("calledBy").text
    made.agentName = json.member("agentName").text
    made.callId = json.member("callId").text
    made.toolName = json.member("toolName").text
    made.arguments = json.member("arguments")
    return made
  }
}

export class GuardAnswer {
  /** One of: allow, refuse. */
  decision: string = ""
  reason: string | null = null
  policy: string | null = null

  write(out: Writer): void {
    out.open("{")
    out.name("decision")
    out.string(this.decision)
    const reasonGiven = this.reason
    if (reasonGiven !== null) {
      out.name("reason")
      out.string(reasonGiven)
    }
    const policyGiven = this.policy
    if (policyGiven !== null) {
      out.name("policy")
      out.string(policyGiven)
    }
    out.close("}")
  }
}

export function allow(): i32 {
  const given = new GuardAnswer()
  given.decision = "allow"
  return answer(given)
}

/** The reason is for whoever is refused: what was not allowed, and what to do instead. */
export function refuse(reason: string): i32 {
  const given = new GuardAnswer()
  given.decision = "refuse"
  given.reason = reason
  return answer(given)
}
