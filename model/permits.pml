/* Permits: no two workers use one at the same time, although each goes by a clock of its own.
 *
 * A permit is a lease on a row. The database ends it LEASE after it was written; the worker counts from the moment
 * before it asked, so it stops first, however long the answer takes. `now` is one clock that both can read; each
 * worker looks at its permit at moments of its own, at the latest when its lease ends.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#define LEASE 3
#define END 8
#define NOBODY 0

byte now;
byte owner;		/* whose token matches */
byte until;		/* the end of the lease in the database; 0: free */
bit uses[WORKERS + 1];	/* the worker lets its handlers start */
byte deadline[WORKERS + 1];	/* when it will look at the latest: time does not pass over it */
byte done;

#define used_by_two (uses[1] && uses[2])

proctype worker(byte me) {
	byte asked, since;
	bit held;
	do
	:: now >= END -> break
	:: atomic { !held && now < END -> asked = now };	/* asks for the permit */
		if
		:: atomic { until < now || owner == NOBODY ->	/* lent some time later: at its end it was written after it was asked for */
			until = now + LEASE; owner = me; held = true }
		:: atomic { until >= now || now >= END -> held = false }
		fi;
		atomic {	/* the answer comes, some time later */
			if
#ifdef BROKEN_COUNTS_FROM_THE_ANSWER
			:: held -> since = now; uses[me] = 1; deadline[me] = since + LEASE
#else
			:: held && now < asked + LEASE -> since = asked; uses[me] = 1; deadline[me] = since + LEASE
			:: held && now >= asked + LEASE -> held = false
#endif
			:: !held -> skip
			fi;
			asked = 0
		}
	:: atomic { held && now < since + LEASE ->	/* asks for a longer lease; an outage answers nothing */
		if
		:: owner == me -> until = now + LEASE; since = now; deadline[me] = since + LEASE
		:: owner != me -> assert(false)	/* while it counts on it, nobody else has got it */
#ifdef BROKEN_LOOKS_TOO_LATE
		:: true -> deadline[me] = since + LEASE + 1	/* the store is away: it waits for the next try */
#else
		:: true -> skip
#endif
		fi }
	:: atomic { held && now >= since + LEASE -> held = false; uses[me] = 0; since = 0; deadline[me] = 0 }
	:: atomic { held -> held = false; uses[me] = 0; since = 0; deadline[me] = 0;	/* gives it back, or is killed */
		if
		:: owner == me -> until = 0; owner = NOBODY
		:: true -> skip
		fi }
	od;
	atomic { uses[me] = 0; deadline[me] = 0; done++ }
}

active proctype clock() {
	do
	:: atomic { now < END && (deadline[1] == 0 || now < deadline[1]) && (deadline[2] == 0 || now < deadline[2]) -> now++;
		assert(!used_by_two) }
	:: now == END -> break
	od
}

init {
	atomic { run worker(1); run worker(2) }
	do
	:: atomic { used_by_two -> assert(false) }
	:: done == 2 -> break
	od
}
