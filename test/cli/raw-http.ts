import { connect, type Socket } from 'node:net';

/** A connection on which a test writes what no HTTP client would. */
export type RawConnection = {
  readonly socket: Socket;
  write(text: string): void;
  /** All that has come so far. */
  received(): string;
  /** Resolves once what has come holds `text`; rejects when the connection ends before. */
  until(text: string): Promise<string>;
  /** Resolves with all that has come when the server has closed. */
  ended(): Promise<string>;
};

export async function openRaw(port: number): Promise<RawConnection> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  let text = '';
  socket.on('data', (chunk: string) => (text += chunk));
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  const end = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  socket.on('error', () => socket.destroy()); // a reset ends the connection, as `ended` tells
  return {
    socket,
    write: (part) => void socket.write(part),
    received: () => text,
    until: (wanted) => waitFor(socket, () => text, wanted),
    ended: () => end,
  };
}

function waitFor(socket: Socket, received: () => string, wanted: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      if (!received().includes(wanted)) return;
      socket.off('data', look);
      resolve(received());
    };
    socket.on('data', look);
    socket.once('close', () => reject(new Error(`closed without "${wanted}": ${received()}`)));
    look();
  });
}
