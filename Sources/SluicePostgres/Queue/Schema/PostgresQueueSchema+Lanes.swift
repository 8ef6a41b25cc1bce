#if PostgreSQL
/// The lanes from which a claim takes jobs.
extension PostgresQueueSchema {
    // MARK: Room under the limits

    /// The number of jobs from a host for which there is room, without those of the array `taken`. None for the hosts of `p_avoided`.
    static func hostRoom(_ name: String, taken: String? = nil) -> String {
        """
        CASE WHEN \(name) = ANY (p_avoided) THEN 0 ELSE
            coalesce((SELECT CASE WHEN until > p_now THEN 0 WHEN is_open THEN least(1, p_per_host) END
                FROM host WHERE host.queue = p_queue AND host.name = \(name)), p_per_host)
            - coalesce((SELECT number FROM running
                WHERE running.queue = p_queue AND running.kind = 1 AND running.name = \(name)), 0)
            \(taken.map { "- cardinality(array_positions(\($0), \(name)))" } ?? "") END
        """
    }

    /// The number of jobs charged to a user for which there is room, without those of the array `taken`.
    static func userRoom(_ name: String, taken: String? = nil) -> String {
        """
        CASE WHEN \(name) = '' THEN 4611686018427387904 ELSE p_per_user
            - coalesce((SELECT number FROM running
                WHERE running.queue = p_queue AND running.kind = 2 AND running.name = \(name)), 0)
            \(taken.map { "- cardinality(array_positions(\($0), \(name)))" } ?? "") END
        """
    }

    // MARK: Lanes

    /// The first lanes behind a position in each stream, which is a group of lanes that an index has in order.
    private static func lanes(of streams: String, where condition: String = "true", atMost count: String) -> String {
        """
        SELECT head.* FROM \(streams) CROSS JOIN LATERAL (
            SELECT * FROM head WHERE queue = p_queue AND place = stream.place
                AND is_unresolved = stream.is_unresolved AND (rank, job) > (p_rank, p_job) AND \(condition)
            ORDER BY rank, job LIMIT \(count)) AS head
        """
    }

    /// The first `p_count` lanes behind a position for each of the names in `v_names`.
    private static func lanes(by column: String, where condition: String, andName nameCondition: String) -> String {
        """
        SELECT head.* FROM unnest(v_places, v_unresolved, v_names) AS stream (place, is_unresolved, name) CROSS JOIN LATERAL (
            SELECT * FROM head WHERE queue = p_queue AND place = stream.place AND is_unresolved = stream.is_unresolved
                AND (\(column), rank, job) > (stream.name, p_rank, p_job) AND \(column) <= stream.name AND \(condition)
            ORDER BY \(column), rank, job LIMIT p_count) AS head
        WHERE \(nameCondition) ORDER BY rank, job
        """
    }

    private static let allStreams = "unnest(p_places, p_unresolved) AS stream (place, is_unresolved)"

    private static let freeOfHost = hostRoom("head.host", taken: "p_hosts")
    private static let freeOfUser = userRoom("head.user_name", taken: "p_users")

    /// Stores those lanes of a query in `lanes` that have room: the first `p_count` in order.
    private static func openLanes(of query: String) -> String {
        """
        SELECT array_agg(ROW(lane, host, user_name, room, rank, job)::open_lane) INTO lanes FROM (
            SELECT * FROM (
                SELECT *, least(\(freeOfHost), \(freeOfUser)) AS room FROM (\(query)) AS head OFFSET 0) AS head
            WHERE room > 0 ORDER BY rank, job LIMIT p_count) AS open
        """
    }

    /// Stores the values of a column of `head` in `v_names`, and their streams in `v_places` and `v_unresolved`: all, or 64. Each step
    /// jumps in an index from one value to the next.
    private static func distinct(_ column: String) -> String {
        """
        WITH RECURSIVE found (place, is_unresolved, name) AS (
            SELECT place, is_unresolved, (SELECT \(column) FROM head
                WHERE queue = p_queue AND head.place = stream.place AND head.is_unresolved = stream.is_unresolved
                ORDER BY \(column), rank, job LIMIT 1) FROM \(allStreams)
            UNION ALL
            SELECT place, is_unresolved, (SELECT \(column) FROM head WHERE queue = p_queue AND head.place = found.place
                    AND head.is_unresolved = found.is_unresolved AND \(column) > found.name
                ORDER BY \(column), rank, job LIMIT 1) FROM found WHERE found.name IS NOT NULL)
        SELECT array_agg(place), array_agg(is_unresolved), array_agg(name) INTO v_places, v_unresolved, v_names
            FROM (SELECT * FROM found WHERE name IS NOT NULL LIMIT 64) AS listed
        """
    }

    // MARK: Functions

    static let laneFunctions = [
        // A lane with room for this number of jobs, and its head.
        """
        CREATE TYPE open_lane AS (lane int8, host text, user_name text, room int8, rank int8, job int8)
        """,
        // The first lanes with room behind a position, at most p_count. Up to the position of last_rank and last_job, no other lane has
        // room. It looks at 64 lanes in order. If all are full, it looks at the first lanes of each host or of each user, if there are
        // fewer than 64 of them: a full host may have ten thousand users before the first lane with room, but no more users are full than
        // jobs run. The jobs that the claim has taken so far have the hosts p_hosts and are charged to p_users.
        """
        CREATE FUNCTION open_lanes(
            p_queue int8, p_now int8, p_places text[], p_unresolved bool[], p_per_host int8, p_per_user int8,
            p_hosts text[], p_users text[], p_rank int8, p_job int8, p_count int8, p_avoided text[],
            OUT lanes open_lane[], OUT last_rank int8, OUT last_job int8
        ) LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            v_places text[];
            v_unresolved bool[];
            v_names text[];
        BEGIN
            last_rank := 9223372036854775807; last_job := 9223372036854775807;
            \(openLanes(of: lanes(of: allStreams, atMost: "64") + " ORDER BY rank, job LIMIT 64"));
            IF cardinality(lanes) < p_count OR lanes IS NULL THEN
                SELECT rank, job INTO last_rank, last_job FROM (
                    \(lanes(of: allStreams, atMost: "64"))) AS lane
                    ORDER BY rank, job OFFSET 63 LIMIT 1;
                IF NOT FOUND THEN
                    last_rank := 9223372036854775807; last_job := 9223372036854775807;
                    RETURN;
                END IF;
                IF lanes IS NOT NULL THEN RETURN; END IF;
                last_rank := 9223372036854775807; last_job := 9223372036854775807;
                \(distinct("host"));
                IF cardinality(v_names) < 64 THEN
                    \(openLanes(of: lanes(
                        by: "host", where: "\(freeOfUser) > 0",
                        andName: "\(hostRoom("stream.name", taken: "p_hosts")) > 0")));
                ELSE
                    \(distinct("user_name"));
                    IF cardinality(v_names) < 64 THEN
                        \(openLanes(of: lanes(
                            by: "user_name", where: "\(freeOfHost) > 0",
                            andName: "\(userRoom("stream.name", taken: "p_users")) > 0")));
                    ELSE
                        \(openLanes(of: lanes(of: allStreams, where: "\(freeOfHost) > 0 AND \(freeOfUser) > 0", atMost: "p_count")
                            + " ORDER BY rank, job"));
                    END IF;
                END IF;
            END IF;
            IF cardinality(lanes) = p_count THEN
                last_rank := lanes[p_count].rank; last_job := lanes[p_count].job;
            END IF;
        END $$
        """,
    ]
}
#endif
