/**
 * Messages as tools of an agent, in this process. A call that is made again after a crash is the same message: its
 * key is the call's id. What others wrote is given to the model as data.
 */
import { Effect, Schema } from "effect"
import type { AgentToolSource } from "#core/agent-tools.ts"
import { serviceTool } from "#core/service-tool.ts"
import { untrustedText } from "#core/untrusted-context.ts"
import type { Messages } from "#plugins/messages/messages.ts"
import type { Message } from "#plugins/messages/store.ts"

const listed = 20

const maybe = Schema.optionalKey(Schema.String)
const SendInput = Schema.Struct({
  recipient: Schema.String,
  target_run_id: Schema.String.annotate({ description: "The run of the recipient: see list_recipients." }),
  content: Schema.String,
  idempotency_key: maybe,
  reply_to_id: maybe,
  reference_kind: maybe,
  reference_id: maybe,
  expires_at: maybe,
})
const MessageInput = Schema.Struct({ message_id: Schema.String })
const Nothing = Schema.Struct({})

const shown = ({ id, sender, sourceRunId, threadId, replyToId, content, status, createdAt }: Message) => ({
  id,
  sender,
  sourceRunId,
  threadId,
  replyToId,
  content,
  status,
  createdAt,
})

export const messageTools =
  (messages: Messages): AgentToolSource =>
  (run) => {
    const { projectId, agentName } = run
    if (projectId === null || agentName === null) return []
    const self = { ...run, projectId }
    return [
      serviceTool("list_recipients", "Lists agents of this project that work now, with their runs.", Nothing, () =>
        Effect.map(messages.recipients(projectId), (rows) => untrustedText({ recipients: rows })),
      ),
      serviceTool("send_message", "Sends a message to the agent of another run.", SendInput, (input, callId) =>
        Effect.map(
          messages.send(self, { ...input, idempotency_key: input.idempotency_key ?? callId }),
          ({ id, threadId }) => `Accepted as message ${id} of thread ${threadId}. It is not delivered yet.`,
        ),
      ),
      serviceTool("receive_message", "Takes the oldest message that waits for you.", Nothing, (_, callId) =>
        Effect.gen(function* () {
          const claimed = yield* messages.claim(self, `call:${callId}`.slice(0, 128))
          if (claimed === undefined) return "No message waits for you."
          const delivered = yield* messages.deliver(self, claimed.id, {
            owner: claimed.claimOwner ?? "",
            fence: claimed.fence,
          })
          return untrustedText({ message: shown(delivered) })
        }),
      ),
      serviceTool("acknowledge_message", "Says that you have read a message.", MessageInput, ({ message_id }) =>
        Effect.map(messages.acknowledge(self, message_id.toLowerCase()), ({ id }) => `Message ${id} is acknowledged.`),
      ),
      serviceTool("list_messages", "Lists messages that you sent or received, newest first.", Nothing, () =>
        Effect.map(messages.list(projectId, { reader: run.runId, limit: listed }), (rows) =>
          untrustedText({ messages: rows.map(shown) }),
        ),
      ),
    ]
  }
