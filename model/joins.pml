/* Joins: exactly one output for each set, and each part is in one.
 *
 * PARTS parts of one correlation, of which COUNT complete a set, are settled by workers at once. A set's message is due
 * at its deadline, and then closes the set with the parts that have come. Reading committed rows, each transaction
 * first writes the row of the set, which another one that does the same waits for.
 */
#ifndef PARTS
#define PARTS 3
#endif
#define COUNT 2
#define NONE 255

bit lock;		/* of the set's row */
byte set_count;		/* committed: the parts of the open set */
byte set_parts;		/* and which, as bits */
bit set_open;		/* its message waits for its deadline */
byte set_token;		/* of that message */
byte outputs;
byte covered;		/* the parts that are in an output, as bits */
bit settled[PARTS];
bit lease_ended[PARTS];

#define all_settled (settled[0] && settled[1] && settled[2] && settled[PARTS - 1])

inline emit(parts) {	/* the set becomes one message, of these parts */
	assert((parts) != 0);	/* a set that is closed was open */
	assert((covered & (parts)) == 0);	/* no part is in two outputs */
	covered = covered | (parts); outputs++
}

proctype part(byte id) {	/* a worker that settles the part; a second one may have it too, after its lease */
	byte count, parts;
begin:
	if
	:: atomic { settled[id] -> goto stop }	/* the receipt is refused */
#ifdef BROKEN_NO_SET_LOCK
	:: atomic { true -> count = set_count; parts = set_parts }
#else
	:: atomic { lock == 0 -> lock = 1; count = set_count; parts = set_parts }
#endif
	fi;
	atomic {	/* the part's own row is locked, and its token compared */
		if
		:: settled[id] -> count = 0; parts = 0; lock = 0; goto stop
		:: !settled[id] && !lease_ended[id] -> count = 0; parts = 0; lock = 0; lease_ended[id] = 1; goto begin	/* killed */
		:: !settled[id] -> skip
		fi
	}
	atomic {	/* it commits */
#ifdef BROKEN_NOT_IN_ONE_TRANSACTION
		skip
#else
		settled[id] = 1
#endif
		;
		count++; parts = parts | (1 << id);
		if
		:: count == COUNT -> emit(parts); set_count = 0; set_parts = 0; set_open = 0; set_token++
		:: else -> set_count = count; set_parts = parts; set_open = 1
		fi;
		lock = 0; count = 0; parts = 0
	}
#ifdef BROKEN_NOT_IN_ONE_TRANSACTION
	if
	:: skip
	:: lease_ended[id] == 0 -> lease_ended[id] = 1; goto begin	/* killed in between */
	fi;
	settled[id] = 1
#endif
stop:	skip
}

proctype deadline() {	/* the set's message is due, is reserved like any other, and closes the set */
	byte token;
	do
	:: atomic { set_open && lock == 0 -> token = set_token }
		if
		:: atomic { lock == 0 ->
#ifndef BROKEN_CLOSE_WITHOUT_FENCE
			if
			:: set_open && set_token == token ->
#else
			if
			:: true ->
#endif
				emit(set_parts); set_count = 0; set_parts = 0; set_open = 0; set_token++
			:: else -> skip	/* it was completed meanwhile */
			fi;
			token = 0 }
		fi
	:: atomic { all_settled && !set_open && lock == 0 -> break }
	od
}

init {
	byte p;
	atomic {
		p = 0;
		do
		:: p < PARTS -> run part(p); run part(p); p++
		:: else -> break
		od;
		p = 0;
		run deadline()
	}
	all_settled && !set_open && lock == 0;
	assert(covered == (1 << PARTS) - 1);	/* every part is in an output */
	assert(outputs >= (PARTS + COUNT - 1) / COUNT && outputs <= PARTS)
}
