/* Batches: what was staged is published once and whole, with the end of the turns that it came from, or not at all.
 *
 * Two drivers work on the same lent messages, one of them a zombie whose lease has ended. Each stages its outputs, and
 * publishes them under one name in one transaction: it notes the name, locks the notes of its batch, ends the turns and
 * pushes. A driver that lost the answer publishes again. The same transaction carries `fork`, `split` and `then=`.
 */
#ifndef DRIVERS
#define DRIVERS 2
#endif
#define TURNS 2

byte noted;			/* the transaction that has noted the name */
bit noted_committed;
bit staged[DRIVERS + 1];	/* the batch of this driver waits to be published */
byte owner[TURNS] = 1;		/* whose receipt matches: driver 1 has the lease first */
bit ended[TURNS];
byte outputs;			/* committed batches */
byte published_before;
bit finished[DRIVERS + 1];

#define owns_all(me) (owner[0] == me && owner[1] == me)

proctype driver(byte me) {
	bit again, did;
	staged[me] = 1;
publish:
#ifndef BROKEN_NO_NAME
	atomic { noted == 0 ->	/* who notes the same name waits for the first to end */
		if
		:: noted_committed -> published_before++; goto stop
		:: else -> noted = me
		fi }
#endif
	if
	:: skip
	:: atomic { again == 0 -> again = 1; noted = 0; goto publish }	/* killed */
	fi;
#ifdef BROKEN_PUSHES_BEFORE_TURNS_END
	atomic { staged[me] = 0; outputs++ }
	atomic {
#else
	atomic {
#endif
		if
#ifdef BROKEN_IGNORES_REFUSED_TURNS
		:: true ->
#else
		:: owns_all(me) && !ended[0] && !ended[1] ->
#endif
			assert(owns_all(me));	/* whoever publishes still has all of the messages */
			ended[0] = 1; ended[1] = 1;
#ifndef BROKEN_PUSHES_BEFORE_TURNS_END
			outputs++;
#endif
			staged[me] = 0; noted_committed = 1; did = true
		:: else -> staged[me] = 0; assert(!did)	/* BatchRefused: everything is undone, and nothing was done before */
		fi;
		noted = (noted == me -> 0 : noted)
	}
	if
	:: again == 0 -> again = 1; goto publish	/* the answer was lost: it is published again */
	:: skip
	fi;
stop:
	finished[me] = 1
}

active proctype clock() {	/* the lease of one message, or of both, ends; the other driver gets them */
	if
	:: skip
	:: atomic { !ended[0] -> owner[0] = 2 }
	:: atomic { !ended[0] && !ended[1] -> owner[0] = 2; owner[1] = 2 }
	fi
}

init {
	atomic { run driver(1); run driver(2) }
	finished[1] && finished[2];
	assert(outputs <= 1);
	assert(outputs == ended[0] && ended[0] == ended[1]);
	assert(noted_committed == ended[0])	/* and it says "published before" only if it was */
}
