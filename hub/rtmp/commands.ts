/** What publishers say besides pictures, and what they are answered. */

import { MediaError } from "../../media/access-unit.ts";
import {
  type Command,
  MESSAGE,
  makeCommand,
  makeControl,
  type OutgoingMessage,
  type Status,
} from "../../media/rtmp/message.ts";
import type { ConnectWords } from "./stream-address.ts";

export interface Answers {
  /** Null before `connect`. */
  connected: ConnectWords | null;
  /** Received so far. */
  commands: number;
  write(message: OutgoingMessage): void;
  publish(streamId: number, name: string): void;
  /** With the last words; the connection ends. */
  refuse(streamId: number, status: Status): void;
  /** The stream is over. */
  finish(streamId: number): void;
}

/** A publisher needs six or so, however long it publishes. */
const MOST_COMMANDS = 100;
const MOST_LETTERS = 2048;
/** Every connection has one stream. */
const STREAM_ID = 1;
const PEER_BANDWIDTH = 2_500_000;
const DYNAMIC = 2;

type Answer = (command: Command, answers: Answers, streamId: number) => void;

const succeed: Answer = ({ transaction }, { write }) => {
  if (transaction > 0) write(makeCommand(0, "_result", transaction, null, null));
};

const connect: Answer = ({ transaction, object }, answers) => {
  if (answers.connected !== null) throw new MediaError("it connects twice");
  const { app, tcUrl } = object ?? {};
  answers.connected = { app: readText(app), tcUrl: readText(tcUrl) };
  answers.write(makeControl(MESSAGE.windowSize, PEER_BANDWIDTH));
  answers.write(makeControl(MESSAGE.peerBandwidth, PEER_BANDWIDTH, [DYNAMIC]));
  const server = { fmsVer: "FMS/3,0,1,123", capabilities: 31 };
  const status = {
    level: "status",
    code: "NetConnection.Connect.Success",
    description: "connected",
    objectEncoding: 0,
  };
  answers.write(makeCommand(0, "_result", transaction, server, status));
};

const publish: Answer = ({ args }, answers, streamId) => answers.publish(streamId || STREAM_ID, readText(args[0]));

const finish: Answer = (_, answers, streamId) => answers.finish(streamId || STREAM_ID);

const refusePlay: Answer = (_, answers, streamId) => {
  const description = "streams are published here by RTMP, not played: play them by RTSP, HLS or WebRTC";
  answers.refuse(streamId || STREAM_ID, { level: "error", code: "NetStream.Play.Failed", description });
};

const ANSWERS: Readonly<Record<string, Answer>> = {
  connect,
  releaseStream: succeed,
  FCPublish: (command, answers, streamId) => {
    succeed(command, answers, streamId);
    const status = { level: "status", code: "NetStream.Publish.Start", description: "go on" };
    answers.write(makeCommand(0, "onFCPublish", 0, null, status));
  },
  createStream: ({ transaction }, { write }) => write(makeCommand(0, "_result", transaction, null, STREAM_ID)),
  publish,
  FCUnpublish: finish,
  closeStream: finish,
  deleteStream: finish,
  play: refusePlay,
  play2: refusePlay,
};

/** What is not known is not answered: clients ask for more than they need. */
export function answerCommand(command: Command, streamId: number, answers: Answers): void {
  answers.commands += 1;
  if (answers.commands > MOST_COMMANDS) throw new MediaError(`more than ${MOST_COMMANDS} commands`);
  const answer = Object.hasOwn(ANSWERS, command.name) ? ANSWERS[command.name] : undefined;
  if (answer === undefined) return;
  if (answers.connected === null && answer !== connect) throw new MediaError(`${command.name} before connect`);
  answer(command, answers, streamId);
}

function readText(value: unknown): string {
  return typeof value === "string" && value.length <= MOST_LETTERS ? value : "";
}
