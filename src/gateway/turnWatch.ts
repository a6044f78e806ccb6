import type { Tool } from "../agent/index.js";
import { senderKind } from "../message/index.js";
import type { Fact, NewMessage, Work } from "../store/store.js";
import { isPrepared, prepareAttachments } from "./attachments.js";
import { answerCommand, commandDone, mayCommand } from "./commands.js";
import type { Hall } from "./hall.js";
import { forgetPassed, passedIn } from "./passed.js";
import { withPeople } from "./people.js";
import { changesBranch, interrupts, isAnsweredAtOnce } from "./placement.js";
import { StopRequested, Superseded, type TurnState } from "./turnState.js";
import {
  type AnswerPiece,
  type CommandPiece,
  isAnswer,
  isCommand,
  LOOKED_AT,
  type Piece,
  piecesOf,
  waitingPieces,
} from "./waiting.js";

const LOOK_EVERY_MS = 200;
const LOOK_SELDOM_MS = 1000;

/**
 * Looks at what comes into a chat's lane while its turn runs: a stop stops it, a newer message may cut it short, and
 * commands that only want to know something are answered at once. Everything else waits for a boundary or its turn.
 */
export class TurnWatch {
  /** What is done and written together with a turn that was stopped: those who asked are answered too. */
  readonly stopping: { done: string[]; facts: Fact[] } = { done: [], facts: [] };
  private readonly seen: Set<string>;
  private fragile = false;
  private wantsIn = false;
  private branchEnds = false;
  private looking: Promise<void> | null = null;
  private lookAgain = false;
  private readonly arrived: Work[] = [];
  private closed = false;
  private readonly undo: (() => void)[] = [];
  private toldElsewhere = false;

  constructor(
    private readonly hall: Hall,
    private readonly state: TurnState,
    /** What ends this turn, and no other. */
    private readonly stop: AbortController,
    private readonly startedBy: ReadonlySet<string>,
  ) {
    const passed = this.remembers ? passedIn(hall, state.claim.lane) : [];
    this.seen = new Set([...passed, ...state.members.map(({ work }) => work.id)]);
  }

  start(): void {
    const { lane } = this.state.claim;
    const { arrivals, store, clock } = this.hall;
    this.undo.push(arrivals.watch(lane, (work) => this.lookAt(work)));
    this.undo.push(
      store.subscribe(({ work }) => {
        this.toldElsewhere ||= work.includes("turn");
      }),
    );
    // What came in at another machine: the news does not say to which chat. A store that is nobody else's has hardly any.
    const every = store.inOrder ? LOOK_SELDOM_MS : LOOK_EVERY_MS;
    this.undo.push(clock.every(every, () => this.toldElsewhere && this.look()));
    this.look();
  }

  /** Nothing of it runs any more once this resolves. */
  async close(): Promise<void> {
    this.closed = true;
    for (const undo of this.undo.splice(0)) undo();
    await this.looking;
    const { members, claim } = this.state;
    forgetPassed(
      this.hall,
      claim.lane,
      members.map(({ work }) => work.id),
    );
  }

  /** Is a message once looked at of no more interest? Not where it may cut the next turn short. */
  private get remembers(): boolean {
    return this.state.chat.while_busy !== "interrupt";
  }

  /**
   * The model called these tools: while one of them runs that must not be repeated, the turn is not cut short. Of a tool
   * we do not know, we do not know that it may.
   */
  enterTools(rows: readonly NewMessage[], tools: readonly Tool[]): void {
    const harmless = new Set(tools.filter((tool) => tool.repeatable).map(({ name }) => name));
    const used = rows.filter((row) => senderKind(row) === "tool_use");
    this.fragile = used.some((row) => !harmless.has(String(row.metadata.name)));
  }

  leaveTools(): void {
    this.fragile = false;
    if (this.wantsIn) this.stop.abort(new Superseded("a newer message is answered instead"));
  }

  /** Something came in here: only that is looked at, however much else waits. */
  private lookAt(work: Work): void {
    this.arrived.push(work);
    this.begin();
  }

  /** Look at everything that waits and was not looked at yet. */
  private look(): void {
    this.lookAgain = true;
    this.toldElsewhere = false;
    this.begin();
  }

  private begin(): void {
    this.looking ??= this.lookWhileNews()
      .catch((error) => {
        this.hall.log("warn", "turn.not_watched", { lane: this.state.claim.lane, why: String(error) });
        // Whoever asked to stop must not be overlooked because the store was away for a moment.
        this.toldElsewhere = true;
      })
      .finally(() => {
        this.looking = null;
        if (this.hasNews && !this.closed) this.begin();
      });
  }

  private async lookWhileNews(): Promise<void> {
    const { chat, claim } = this.state;
    while (this.hasNews && !this.closed) {
      const arrived = this.arrived.splice(0).filter((work) => !this.seen.has(work.id));
      const all = this.lookAgain;
      this.lookAgain = false;
      const pieces = all
        ? await waitingPieces(this.hall, chat, claim.lane, this.seen)
        : await piecesOf(this.hall, chat, arrived);
      // However many messages wait, a stop behind them is found.
      if (all && pieces.length === LOOKED_AT) this.lookAgain = true;
      for (const piece of pieces) {
        if (this.closed) return;
        await this.place(piece);
        this.seen.add(piece.work.id);
        if (this.isPassed(piece)) passedIn(this.hall, this.state.claim.lane).add(piece.work.id);
      }
    }
  }

  private get hasNews(): boolean {
    return this.lookAgain || this.arrived.length > 0;
  }

  private isPassed(piece: Piece): boolean {
    return this.remembers && isAnswer(piece) && isPrepared(piece.asked.message);
  }

  private async place(piece: Piece): Promise<void> {
    const { state } = this;
    if (piece.asked.type === "end_turn" && piece.asked.turn_id === state.turn.id) {
      this.stopping.done.push(piece.work.id);
      this.stop.abort(new StopRequested("a person asked to stop"));
    }
    this.branchEnds ||= changesBranch(piece);
    if (isCommand(piece)) return this.command(piece);
    // What comes behind a command that changes the branch is not about this turn.
    if (!isAnswer(piece) || this.branchEnds) return;
    this.prepareFor(piece);
    const running = { startedBy: this.startedBy, interruptions: state.turn.interruptions };
    if (!interrupts(piece, state.chat, running)) return;
    if (this.fragile) this.wantsIn = true;
    else this.stop.abort(new Superseded("a newer message is answered instead"));
  }

  /** Its files are made ready while the turn goes on: at a boundary nobody waits for them. */
  private prepareFor({ work, asked: { message } }: AnswerPiece): void {
    const { hall, state } = this;
    if (isPrepared(message)) return;
    prepareAttachments(hall, [message], state.claim).catch((error: unknown) =>
      hall.log("warn", "attachment.not_prepared", { message: work.ref, why: String(error) }),
    );
  }

  private async command(piece: CommandPiece): Promise<void> {
    const { hall, state } = this;
    const { command, message } = piece.asked;
    if (!isAnsweredAtOnce(command)) return;
    // The chat as it is now, not as it was when the turn began: who may, and which model answers.
    const registered = await hall.store.read.chat(state.chat.jid);
    if (!registered) return;
    const chat = await withPeople(hall, registered);
    if (command.type !== "stop" || !mayCommand(chat, message, command)) {
      return answerCommand(hall, { chat, claim: state.claim, release: false }, piece);
    }
    this.stopping.done.push(piece.work.id);
    this.stopping.facts.push(...commandDone(hall, chat, piece, "Stopped."));
    this.stop.abort(new StopRequested("a person asked to stop"));
  }
}
