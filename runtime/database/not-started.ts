/** Why the service has no database of its own. The message is for whoever starts the service, and says what to do. */
import { Data } from "effect"

export class DatabaseNotStarted extends Data.TaggedError("DatabaseNotStarted")<{ readonly message: string }> {}
