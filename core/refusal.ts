/**
 * The named failures of the interface: one table of code, status and default message.
 *
 * Whatever the service refuses is one `Refusal`; the gateway alone turns it into
 * `{ error, message, … }`. A code that is not in the table does not compile.
 */
import { Schema } from "effect"

const refusals = {
  // 400: the request itself is wrong
  invalid_request: [400, "The request is not valid."],
  invalid_json: [400, "The body is not valid JSON."],
  invalid_run_id: [400, "The run id is not a valid id."],
  invalid_project_id: [400, "The project id is not a valid id."],
  confirmation_required: [400, "confirm=true query parameter is required for delete."],
  invalid_blueprint: [400, "The blueprint is not valid."],
  steering_invalid: [400, "The steering directive is not valid."],
  invalid_sandbox_policy: [400, "The sandbox policy is not valid."],
  bad_request: [400, "The request is not valid HTTP/1.1 for this service."],
  // 401, 403: who asks
  unauthorized: [401, "No valid credential was sent. Send `Authorization: Bearer <API key>`."],
  forbidden: [403, "The caller may not do this."],
  refused_by_policy: [403, "A policy of this service does not allow this."],
  human_entra_subject_required: [403, "This route needs a person signed in with the identity provider."],
  // 404, 405, 410: what is asked for
  not_found: [404, "There is nothing here."],
  run_not_found: [404, "There is no such run."],
  project_not_found: [404, "There is no such project."],
  file_not_found: [404, "There is no such file in the work of this run."],
  memory_not_found: [404, "There is no such memory."],
  plugin_not_found: [404, "There is no such plugin."],
  unknown_approval: [404, "No approval with this request_id was ever asked for."],
  method_not_allowed: [405, "This path does not answer this method."],
  misdirected_request: [421, "This service does not answer for the host name of the request."],
  gone: [410, "This operation was retired."],
  // 409: it does not fit the state
  conflict: [409, "The request does not fit the current state."],
  run_not_active: [409, "Run is not active."],
  no_pending_approval: [409, "No pending approval found for this request_id."],
  no_pending_gate: [409, "No gate is waiting for this decision."],
  no_assembly_review_pending: [409, "No assembly review waits for a decision."],
  lease_lost: [409, "Another replica acts for this run now."],
  no_pending_question: [409, "No pending question found for this request_id."],
  plugin_required: [409, "Other plugins that are running require this one."],
  plugin_not_startable: [409, "The plugin cannot be started as it is."],
  last_owner: [409, "A project keeps at least one owner."],
  run_not_retryable: [409, "Only a failed run can be retried."],
  steering_recovery_exhausted: [409, "The budget of recoveries is used up."],
  retry_limit_reached: [409, "The retry chain of this run is at its limit."],
  revision_limit_reached: [409, "The run has had as many revisions as it may have."],
  project_deleting: [409, "The project is being deleted."],
  workspace_unavailable: [409, "The working directory of the project cannot be found on the server."],
  workspace_mount_unavailable: [503, "The data folder cannot be written."],
  worktree_unavailable: [409, "Worktree not available."],
  worktree_changed: [409, "Worktree content has changed since review was requested."],
  already_merging: [409, "Run is already being merged."],
  history_not_ready: [409, "History is only available for terminal runs."],
  replay_conflict: [409, "The replay key was used before with another event."],
  idempotency_key_conflict: [409, "The key was used before with another request."],
  // addressed messages
  invalid_message: [409, "The message is not valid."],
  idempotency_conflict: [409, "The idempotency_key was used before with another message."],
  invalid_expiry: [409, "expires_at must be later than now and within 7 days."],
  recipient_unavailable: [409, "The recipient is not an agent that can receive the message."],
  target_not_running: [409, "The target run does not run."],
  run_unavailable: [409, "The source run does not run."],
  reply_unavailable: [409, "Only a message that this run received and acknowledged can be replied to."],
  invalid_claim_owner: [409, "owner must be a name of at most 128 characters."],
  claim_lost: [409, "The claim is not valid any more: claim the message again."],
  message_not_delivered: [409, "Only a delivered message can be acknowledged."],
  recipient_run_required: [409, "Only the recipient's run may do this."],
  message_unavailable: [409, "The message is not in a state that allows this."],
  // sizes and forms
  payload_too_large: [413, "The body is too large."],
  request_timeout: [408, "The request did not arrive in time."],
  uri_too_long: [414, "The request target is too long."],
  unsupported_media_type: [415, "The body must be JSON (application/json), sent without a content encoding."],
  headers_too_large: [431, "The request headers are too large."],
  // 5xx: the service cannot, for now
  internal_error: [500, "An unexpected error occurred."],
  not_implemented: [501, "This is not available on this service."],
  database_unavailable: [503, "The database does not answer. Try again shortly."],
  timed_out: [503, "The request took too long and was given up. Try again shortly."],
  overloaded: [503, "The service is at its limit. Try again shortly."],
  starting: [503, "The service is starting."],
  draining: [503, "The service is stopping. Try again shortly."],
  plugin_unavailable: [503, "The plugin that answers this route is not running."],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type RefusalCode = keyof typeof refusals

export const refusalCodes = Object.keys(refusals) as ReadonlyArray<RefusalCode>

/** HTTP status of a code, as the interface gives it. */
export const statusOf = (code: RefusalCode): number => refusals[code][0]

/** One thing that is wrong with the input: where, and what. */
export const Issue = Schema.Struct({ path: Schema.String, message: Schema.String })
export type Issue = typeof Issue.Type

/** A failure the caller is told about. */
export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", {
  code: Schema.Literals(refusalCodes),
  message: Schema.String,
  /** What is wrong, by path (`body.name`, `query.after`, …); for bad input. */
  issues: Schema.optionalKey(Schema.Array(Issue)),
  /** Further members of the body that the interface names (`status`, `state`, `details`, …). */
  extra: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  /** Seconds, sent as `Retry-After`. */
  retryAfter: Schema.optionalKey(Schema.Finite),
}) {
  get status(): number {
    return statusOf(this.code)
  }
}

export interface RefusalOptions {
  readonly message?: string
  readonly issues?: ReadonlyArray<Issue>
  readonly extra?: Record<string, unknown>
  readonly retryAfter?: number
}

/** `refuse("run_not_found")`, or with a message of its own. */
export const refuse = (code: RefusalCode, options: RefusalOptions = {}): Refusal =>
  new Refusal({ ...options, code, message: options.message ?? refusals[code][1] })

/** `refuse` for bad input: says which paths are wrong and why. */
export const refuseInput = (issues: ReadonlyArray<Issue>, message?: string): Refusal =>
  refuse("invalid_request", { message: message ?? issues.map((i) => `${i.path}: ${i.message}`).join("; "), issues })
