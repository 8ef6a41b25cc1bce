extension StyleSheet {
    /// The size of images, their position and their corners.
    ///
    ///     sheet.setting(inline: [.image: [.imageLayout(.init(.fitWidth, cornerRadius: .points(8)))]])
    ///     sheet.setting(inline: [.image: [.imageLayout(.init(.maximum(width: .points(300)), alignment: .center))]])
    ///
    /// An image keeps its proportions. In a rule for blocks, the style applies to the images in them.
    public struct ImageLayout: Sendable, Hashable {
        /// The size of images.
        public var size: Size
        /// The position of an image that is alone in its paragraph, or `nil` for that of the paragraph's text.
        public var alignment: Alignment?
        /// The radius of the corners. Terminals show square corners.
        public var cornerRadius: Length

        /// Creates a layout, by default of images in their own size with square corners.
        public init(_ size: Size = .natural, alignment: Alignment? = nil, cornerRadius: Length = .points(0)) {
            self.size = size
            self.alignment = alignment
            self.cornerRadius = cornerRadius
        }

        /// How large an image is shown.
        public enum Size: Sendable, Hashable {
            /// In its own size, or as wide as the text if it is wider.
            case natural
            /// As wide as the text, even if the image is smaller. In a table, as ``natural``.
            case fitWidth
            /// As ``natural``, but not larger than a width and a height.
            case maximum(width: Length? = nil, height: Length? = nil)
        }
    }
}

extension ResolvedTextStyle {
    /// The size of images, their position and their corners, with lengths in points.
    public struct ImageLayout: Sendable, Hashable {
        /// The size of images.
        public var size: Size
        /// The position of an image that is alone in its paragraph, or `nil` for that of the paragraph's text.
        public var alignment: StyleSheet.Alignment?
        /// The radius of the corners, in points.
        public var cornerRadius: Double

        /// How large an image is shown.
        public enum Size: Sendable, Hashable {
            /// In its own size, or as wide as the text if it is wider.
            case natural
            /// As wide as the text.
            case fitWidth
            /// As ``natural``, but not larger than a width and a height in points.
            case maximum(width: Double?, height: Double?)
        }
    }
}

extension ResolvedTextStyle.ImageLayout.Size {
    /// Returns the factor by which an image is scaled. `room` is the width of the text, in the unit of the image's width. `unit` is a point
    /// in the units of the image's width and height, which differ in a terminal.
    func scale(
        width: Double, height: Double, room: Double, unit: (width: Double, height: Double) = (1, 1),
        fillsRoom: Bool = true
    ) -> Double {
        guard width.isFinite, height.isFinite, width > 0, height > 0 else { return 1 }
        var scale = min(room / width, 1)
        switch self {
        case .natural: break
        case .fitWidth: if fillsRoom { scale = room / width }
        case .maximum(let most, let highest):
            if let most, most.isFinite { scale = min(scale, max(most, 0) * unit.width / width) }
            if let highest, highest.isFinite { scale = min(scale, max(highest, 0) * unit.height / height) }
        }
        return scale.isFinite ? max(scale, 0) : 1
    }
}

extension ResolvedStyleSheet {
    func resolved(_ layout: StyleSheet.ImageLayout, atFontSize size: Double) -> ResolvedTextStyle.ImageLayout {
        let form: ResolvedTextStyle.ImageLayout.Size =
            switch layout.size {
            case .natural: .natural
            case .fitWidth: .fitWidth
            case .maximum(let width, let height):
                .maximum(
                    width: width.map { $0.points(atFontSize: size) }, height: height.map { $0.points(atFontSize: size) }
                )
            }
        return .init(
            size: form, alignment: layout.alignment, cornerRadius: layout.cornerRadius.points(atFontSize: size))
    }
}

extension StyleSheet {
    /// Whether a rule aligns images.
    var alignsImages: Bool {
        func aligns(_ style: InlineStyle) -> Bool {
            if case .imageLayout(let layout) = style { layout.alignment != nil } else { false }
        }
        return inlines.values.joined().contains(where: aligns)
            || blocks.values.joined().contains { if case .text(let style) = $0 { aligns(style) } else { false } }
    }
}

// MARK: - JSON

extension StyleSheet.ImageLayout {
    private enum Part: String, CaseIterable {
        case size, maximumWidth, maximumHeight, alignment, cornerRadius
    }

    fileprivate enum SizeName: String, CaseIterable {
        case natural, fitWidth, maximum
    }

    /// Reads the name of a size, or an object.
    init(json decoder: any Decoder) throws {
        if (try? decoder.singleValueContainer().decode(String.self)) != nil {
            self.init(Self.size(try Self.name(json: decoder), width: nil, height: nil))
            return
        }
        guard (try? decoder.container(keyedBy: StyleKey.self)) != nil else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "isn't a layout of images",
                remedy: "Write \"natural\", \"fitWidth\", or { \"maximumWidth\": 300, \"cornerRadius\": 6 }")
        }
        let object = try decoder.object(of: Part.self, called: "part of an image's layout")
        let name = try object.value(of: .size) { try Self.name(json: $0) }
        let width = try object.value(of: .maximumWidth) { try StyleSheet.Length(json: $0) }
        let height = try object.value(of: .maximumHeight) { try StyleSheet.Length(json: $0) }
        let isLimited = width != nil || height != nil
        guard !isLimited || name == nil || name == .maximum else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "must have one size",
                remedy: "Write either \"size\", or \"maximumWidth\" and \"maximumHeight\"")
        }
        self.init(
            Self.size(name ?? (isLimited ? .maximum : .natural), width: width, height: height),
            alignment: try object.value(of: .alignment) {
                try $0.choice(of: StyleSheet.Alignment.self, called: "an alignment")
            },
            cornerRadius: try object.value(of: .cornerRadius) { try .init(json: $0) } ?? .points(0))
    }

    private static func name(json decoder: any Decoder) throws -> SizeName {
        try decoder.choice(of: SizeName.self, called: "a size of images")
    }

    private static func size(_ name: SizeName, width: StyleSheet.Length?, height: StyleSheet.Length?) -> Size {
        switch name {
        case .natural: .natural
        case .fitWidth: .fitWidth
        case .maximum: .maximum(width: width, height: height)
        }
    }

    func encode(into encoder: any Encoder) throws {
        let name: SizeName? =
            switch size {
            case .natural: .natural
            case .fitWidth: .fitWidth
            case .maximum(nil, nil): .maximum
            case .maximum: nil
            }
        if let name, self == Self(size) { return try encoder.write(name.rawValue) }
        var container = encoder.container(keyedBy: StyleKey.self)
        if let name { try container.encode(name.rawValue, forKey: "size") }
        if case .maximum(let width, let height) = size {
            try width?.encode(into: container.superEncoder(forKey: "maximumWidth"))
            try height?.encode(into: container.superEncoder(forKey: "maximumHeight"))
        }
        try container.encodeIfPresent(alignment?.rawValue, forKey: "alignment")
        if cornerRadius != .points(0) { try cornerRadius.encode(into: container.superEncoder(forKey: "cornerRadius")) }
    }
}

extension StyleSheet.ImageLayout.SizeName: NamedInJSON {}
